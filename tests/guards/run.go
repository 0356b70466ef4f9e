package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// A bench has the tests built with guards that can be out. Nothing of the tree is touched: the compiler is given other
// files in the place of those with guards.
type bench struct {
	root    string
	folder  string // of its own
	overlay string

	mu    sync.Mutex
	built map[string]func() error
}

// newBench writes the files with switches into a folder.
func newBench(root, folder string, files []rewritten) (*bench, error) {
	b := &bench{root: root, folder: folder, overlay: filepath.Join(folder, "overlay.json"), built: map[string]func() error{}}
	replace := map[string]string{}
	put := func(file, text string) error {
		at := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(root, file)] = at
		return os.WriteFile(at, []byte(text), 0o600)
	}
	for _, f := range files {
		err := errors.Join(put(f.file, f.text), put(filepath.ToSlash(filepath.Dir(f.file))+"/guard_switches.go", fmt.Sprintf(switches, f.pack)))
		if err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	return b, os.WriteFile(b.overlay, raw, 0o600)
}

func (b *bench) binary(pack string) string {
	return filepath.Join(b.folder, strings.ReplaceAll(pack, "/", "_")+".test")
}

// build builds the tests of a package, once.
func (b *bench) build(ctx context.Context, pack string) error {
	b.mu.Lock()
	do, ok := b.built[pack]
	if !ok {
		do = sync.OnceValue(func() error {
			cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", b.overlay, "-o", b.binary(pack), "./"+pack)
			cmd.Dir = b.root
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("build tests of %s: %w\n%s", pack, err, out)
			}
			return nil
		})
		b.built[pack] = do
	}
	b.mu.Unlock()
	return do()
}

// A verdict says what came of a test.
type verdict struct {
	ran    int      // tests and parts of tests, to the depth that was asked for
	failed []string // that failed
	text   string
}

// run runs a test with one guard out; none: with all of them in.
func (b *bench) run(ctx context.Context, k killer, guard string) (verdict, error) {
	if err := b.build(ctx, k.pack); err != nil {
		return verdict{}, err
	}
	args := []string{"-test.v", "-test.count=1", "-test.timeout=1m", "-test.run=" + pattern(k.test)}
	if k.test == "" { // whatever it has, but for those that hold the texts of expressions against a file or a table
		args = append(args, "-test.skip=^Test(ExpressionsAreAsAgreed|ExpressionsUseOnly|StatementsKeepTo|EveryStatementIsListed)")
	}
	cmd := exec.CommandContext(ctx, b.binary(k.pack), args...)
	cmd.Dir = filepath.Join(b.root, k.pack)
	cmd.Env = append(os.Environ(), switchEnv+"="+guard)
	out, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return verdict{}, fmt.Errorf("run %s: %w", k, err)
	}
	return judge(out, err == nil, depth(k.test)), nil
}

var ended = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+)`)

// judge reads what a test said.
func judge(out []byte, passed bool, depth int) verdict {
	v := verdict{text: string(out)}
	for _, m := range ended.FindAllSubmatch(out, -1) {
		name := string(m[2])
		if strings.Count(name, "/") == depth && string(m[1]) != "SKIP" {
			v.ran++
		}
		if string(m[1]) == "FAIL" {
			v.failed = append(v.failed, name)
		}
	}
	if !passed && len(v.failed) == 0 { // it did not come to its end
		last := bytes.TrimSpace(out)
		v.failed = append(v.failed, fmt.Sprintf("(%.120s)", last[max(0, len(last)-120):]))
	}
	return v
}

// pattern chooses a test by its name, of which parts may be cut short.
func pattern(test string) string {
	if test == "" {
		return "."
	}
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p)
	}
	parts[0] += "$"
	return strings.Join(parts, "/")
}

func depth(test string) int { return strings.Count(test, "/") }
