//go:build !linux

package main

import "os/exec"

// launch starts a command. A stopped child is not resumed if this process is killed.
func launch(command *exec.Cmd) error {
	return command.Start()
}
