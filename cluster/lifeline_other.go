//go:build !linux

package main

import "os/exec"

// launch starts a command. A child that is stopped when this process is killed stays stopped: there is nobody to wake it.
func launch(command *exec.Cmd) error {
	return command.Start()
}
