package main

import (
	"os/exec"
	"runtime"
	"syscall"
)

// The kernel signals when the thread that started a child ends, so one thread starts them all and is kept.
var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

// launch starts a command that goes on when this process ends, should it be stopped then: a child that is stopped does
// not see that its standard input has ended.
func launch(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGCONT}
	result := make(chan error)
	starts <- func() { result <- command.Start() }
	return <-result
}
