// Guards takes each guard of the store and of its users out, one at a time, and tells which test sees it: the
// conditions of every write and each part of them, the write ids, the counters, the rows of what a refusal means, and
// the order of writes.
//
//	go run ./tests/guards             # all of them, two minutes on two cores; exits with 1 if nothing sees one
//	go run ./tests/guards -only dynamo.complete   # those whose name has this text
//	go run ./tests/guards -part 2/5   # a fifth of them: five commits take all of them out
//	go run ./tests/guards -find       # which tests of its package fail without a guard that has no test in the table
//	go run ./tests/guards -find -in shared/enrich,tests/integration   # of these packages
//
// The files with guards are given to the compiler with a switch at each of them; nothing of the tree is touched. So
// the tests of a package are built once, and run once for each guard: with it out they must fail, with all in they
// must pass. It runs on the embedded engine, and on the reference engine too where ENGANG_REFERENCE_DYNAMODB is set.
//
// What is kept in guards.txt is held against the source by `go test ./tests/guards`, which takes no guard of it out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// tableFile says which test kills which guard.
const tableFile = "tests/guards/guards.txt"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := work(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A command is what is asked for.
type command struct {
	only string
	part string
	find bool
	in   string
	jobs int

	bench *bench
	files map[string]string // of each guard
}

func work(ctx context.Context) error {
	var c command
	flag.StringVar(&c.only, "only", "", "only guards whose name has this text")
	flag.StringVar(&c.part, "part", "0/1", "I/N: of N parts of the table that with number I, from 0")
	flag.BoolVar(&c.find, "find", false, "say which tests fail without the guards that have none in the table, or whose tests do not")
	flag.StringVar(&c.in, "in", "", "with -find: packages whose tests are tried, by comma; else the guard's own")
	flag.IntVar(&c.jobs, "jobs", 2, "tests at once")
	flag.Parse()
	root, err := repository()
	if err != nil {
		return err
	}
	files, err := collect(root)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, tableFile))
	if err != nil {
		return err
	}
	rows, err := read(string(text))
	if err != nil {
		return fmt.Errorf("read %s: %w", tableFile, err)
	}
	if err := compared(guardsOf(files), rows); err != nil && !c.find {
		return fmt.Errorf("%s and the source differ:\n%w", tableFile, err)
	}
	folder, err := os.MkdirTemp("", "guards")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if c.bench, err = newBench(root, folder, files); err != nil {
		return err
	}
	c.files = map[string]string{}
	for _, g := range guardsOf(files) {
		c.files[g.id] = g.file
	}
	return c.all(ctx, rows)
}

// all takes out every guard of the table that is asked for.
func (c command) all(ctx context.Context, rows []row) error {
	began := time.Now()
	chosen, err := c.chosen(rows)
	if err != nil {
		return err
	}
	if err := c.sound(ctx, chosen); err != nil {
		return err
	}
	var survived []string
	var mu sync.Mutex
	faults := make([]error, len(chosen))
	c.each(len(chosen), func(i int) {
		said, red, err := c.one(ctx, chosen[i])
		mu.Lock()
		defer mu.Unlock()
		if faults[i] = err; err == nil {
			fmt.Println(said)
		}
		if err == nil && !red {
			survived = append(survived, chosen[i].guard)
		}
	})
	if err := errors.Join(faults...); err != nil {
		return err
	}
	fmt.Printf("\n%d guards, %d red, %d survived, in %s\n", len(chosen), len(chosen)-len(survived), len(survived), time.Since(began).Round(time.Second))
	if len(survived) > 0 {
		return fmt.Errorf("nothing sees that these are out:\n\t%s", strings.Join(survived, "\n\t"))
	}
	return nil
}

// chosen are the guards that are asked for, and that a test sees.
func (c command) chosen(rows []row) (list []row, err error) {
	var part, parts int
	if n, err := fmt.Sscanf(c.part+"\n", "%d/%d\n", &part, &parts); err != nil || n != 2 || part < 0 || part >= parts {
		return nil, fmt.Errorf("-part %q is not I/N with I from 0 to N-1", c.part)
	}
	for i, r := range rows {
		if i%parts == part && strings.Contains(r.guard, c.only) && r.why == "" {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no guard in this part of %s has %q in its name", tableFile, c.only)
	}
	return list, nil
}

// sound runs every test of the rows with all guards in: one that fails, or does not exist, would prove nothing.
func (c command) sound(ctx context.Context, rows []row) error {
	var tests []killer
	seen := map[killer]bool{}
	for _, r := range rows {
		for _, k := range r.tests {
			if !seen[k] {
				seen[k] = true
				tests = append(tests, k)
			}
		}
	}
	faults := make([]error, len(tests))
	c.each(len(tests), func(i int) {
		v, err := c.bench.run(ctx, tests[i], "")
		switch {
		case err != nil:
			faults[i] = err
		case len(v.failed) > 0:
			faults[i] = fmt.Errorf("%s fails with all guards in:\n%s", tests[i], v.text)
		case v.ran == 0:
			faults[i] = fmt.Errorf("%s: no test of this name ran", tests[i])
		}
	})
	return errors.Join(faults...)
}

// one takes one guard out, and says what saw it.
func (c command) one(ctx context.Context, r row) (said string, red bool, err error) {
	for _, k := range r.tests {
		v, err := c.bench.run(ctx, k, r.guard)
		if err != nil {
			return "", false, err
		}
		if len(v.failed) > 0 {
			return fmt.Sprintf("red       %s  <-  %s", r.guard, k), true, nil
		}
	}
	if !c.find {
		return fmt.Sprintf("SURVIVED  %s", r.guard), false, nil
	}
	packs := strings.Split(c.in, ",")
	if c.in == "" {
		packs = []string{filepath.ToSlash(filepath.Dir(c.files[r.guard]))}
	}
	for _, p := range packs {
		v, err := c.bench.run(ctx, killer{pack: p}, r.guard)
		if err != nil {
			return "", false, err
		}
		if len(v.failed) > 0 {
			return fmt.Sprintf("found     %s  <-  %s %s", r.guard, p, strings.Join(v.failed, " ")), true, nil
		}
	}
	return fmt.Sprintf("SURVIVED  %s", r.guard), false, nil
}

// each does something n times, a few at once.
func (c command) each(n int, do func(i int)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, max(c.jobs, 1))
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	all.Wait()
}
