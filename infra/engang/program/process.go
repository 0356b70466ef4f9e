package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
)

// Main runs the command line of this process until it ends or is interrupted, and returns its exit code.
// A second interrupt ends it at once.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return Run(ctx, process())
}

// built is the version that the Go tool wrote into the binary: a release's tag, or the commit.
func built() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	version, changed := "dev", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			version = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	return version + changed
}

// confirm asks on the terminal, if both its ends are one.
func confirm() func(context.Context, string) bool {
	for _, f := range []*os.File{os.Stdin, os.Stderr} {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return nil
		}
	}
	return func(ctx context.Context, question string) bool { return asked(ctx, os.Stdin, os.Stderr, question) }
}

// asked puts a question and reads the answer. Until ctx ends: the read goes on then, for nobody, since a terminal's
// cannot be ended.
func asked(ctx context.Context, in io.Reader, out io.Writer, question string) bool {
	fmt.Fprint(out, question, " [y/N] ")
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n')
		said <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(out)
		return false
	case answer := <-said:
		return ctx.Err() == nil && (answer == "y" || answer == "yes")
	}
}

// progress is the terminal that standard error is, if it is one.
func progress() io.Writer {
	if info, err := os.Stderr.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return os.Stderr
}

// hide stops the terminal from showing what is typed.
func hide() func() (func(), error) {
	if info, err := os.Stdin.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	stty := func(mode string) error {
		cmd := exec.Command("stty", mode)
		cmd.Stdin = os.Stdin
		return cmd.Run()
	}
	return func() (func(), error) {
		if err := stty("-echo"); err != nil {
			return nil, fmt.Errorf("hide input: %w", err)
		}
		return func() { _ = stty("echo") }, nil
	}
}

// again starts this program in its own place, with more environment. Where a process cannot be replaced,
// it runs as a child, and the exit code is the child's.
func again(environment []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start again: %w", err)
	}
	env := append(os.Environ(), environment...)
	if err := syscall.Exec(self, os.Args, env); !errors.Is(err, errors.ErrUnsupported) && err != syscall.Errno(0) {
		if !strings.Contains(err.Error(), "not supported") {
			return fmt.Errorf("start again: %w", err)
		}
	}
	child := exec.Command(self, os.Args[1:]...)
	child.Env, child.Stdin, child.Stdout, child.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	err = child.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("start again: %w", err)
	}
	os.Exit(0)
	return nil
}
