package main

import (
	"os/exec"
	"runtime"
	"syscall"
)

// The kernel signals a child when the thread that started it ends, so one permanent thread starts all of them.
var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

// launch starts a command that is resumed when this process ends: a stopped child does not detect that its standard input
// was closed.
func launch(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGCONT}
	result := make(chan error)
	starts <- func() { result <- command.Start() }
	return <-result
}
