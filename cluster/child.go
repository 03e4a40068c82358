package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// The number of log lines that are printed when a child fails.
const tailLines = 30

// A child is another process of this program, with a role. It exits when its standard input is closed, which happens at the latest
// when this process ends.
type child struct {
	role      string
	folder    string
	arguments []string
	verbose   bool
	command   *exec.Cmd
	lifeline  io.Closer
	done      chan struct{}
}

func newChild(role, folder string, arguments []string, verbose bool) *child {
	return &child{role: role, folder: folder, arguments: arguments, verbose: verbose}
}

func (c *child) log() string {
	return filepath.Join(c.folder, c.role+".log")
}

func (c *child) start() error {
	if c.command != nil {
		return fmt.Errorf("%s is running already", c.role)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(c.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(program, append([]string{c.role, c.folder}, c.arguments...)...)
	command.Stdout, command.Stderr = log, log
	if c.verbose {
		command.Stdout, command.Stderr = os.Stderr, os.Stderr
	}
	lifeline, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := launch(command); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = command.Wait()
	}()
	c.command, c.lifeline, c.done = command, lifeline, done
	return nil
}

// kill ends the child with SIGKILL.
func (c *child) kill() {
	if c == nil || c.command == nil {
		return
	}
	_ = c.command.Process.Kill()
	<-c.done
	_ = c.lifeline.Close()
	c.command = nil
}

func (c *child) pause() error {
	return c.signal(syscall.SIGSTOP)
}

func (c *child) resume() error {
	return c.signal(syscall.SIGCONT)
}

func (c *child) signal(signal os.Signal) error {
	if c.command == nil || c.ended() {
		return fmt.Errorf("%s is not running", c.role)
	}
	return c.command.Process.Signal(signal)
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// tail returns the last lines of the child's log.
func (c *child) tail() string {
	text, err := os.ReadFile(c.log())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// endWithParent deletes the directory and exits when standard input is closed. A parent that stops normally kills its children
// first, so this is for a parent that was killed.
func endWithParent(folder string) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		// The sibling may still be writing.
		for range 10 {
			if os.RemoveAll(folder) == nil {
				break
			}
		}
		os.Exit(1)
	}()
}
