package main

import (
	"fmt"
	"strconv"
	"strings"
)

// obey executes the command of one line.
//
//	compact                                       drops the history before the current revision
//	kill|start|restart|pause|resume CHILD         etcd or kube-apiserver; kill is SIGKILL, pause is SIGSTOP
//	refuse RESOURCE                               rejects requests of the plain endpoint for this resource with 503
//	serve                                         ends `refuse`
//	cut                                           closes all connections of the plain endpoint
//	token NAMESPACE SERVICEACCOUNT UID SECONDS    a token of this service account that expires after SECONDS
func (c *cluster) obey(line string) (map[string]any, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil, fmt.Errorf("no command")
	}
	switch command, rest := words[0], words[1:]; {
	case command == "compact" && len(rest) == 0:
		revision, err := c.compact()
		return map[string]any{"revision": revision}, err
	case command == "token" && len(rest) == 4:
		seconds, err := strconv.ParseInt(rest[3], 10, 64)
		if err != nil {
			return nil, err
		}
		token, err := c.keys.token(account{rest[0], rest[1], rest[2]}, seconds)
		return map[string]any{"token": token}, err
	case c.plain != nil && command == "refuse" && len(rest) == 1:
		c.plain.refuse(rest[0])
		return map[string]any{"done": line}, nil
	case c.plain != nil && command == "serve" && len(rest) == 0:
		c.plain.refuse("")
		return map[string]any{"done": line}, nil
	case c.plain != nil && command == "cut" && len(rest) == 0:
		c.plain.cut()
		return map[string]any{"done": line}, nil
	case len(rest) == 1:
		return map[string]any{"done": line}, c.handle(command, rest[0])
	default:
		return nil, fmt.Errorf("unknown command %q", line)
	}
}

func (c *cluster) handle(command, name string) error {
	var child *child
	switch name {
	case roleEtcd:
		child = c.etcd
	case roleAPIServer:
		child = c.apiserver
	default:
		return fmt.Errorf("there is no %q; there are %s and %s", name, roleEtcd, roleAPIServer)
	}
	switch command {
	case "kill":
		child.kill()
		return nil
	case "start":
		return c.start(child)
	case "restart":
		child.kill()
		return c.start(child)
	case "pause":
		return child.pause()
	case "resume":
		return child.resume()
	default:
		return fmt.Errorf("unknown command %q", command)
	}
}
