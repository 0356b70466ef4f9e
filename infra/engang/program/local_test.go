package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/infra/engang/program"
	"engang/shared/control"
)

// A call that the provider refuses is not paid for, and where there is no result the reason is told.
func TestTheSampleTellsWhatCameOfTheModelsFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fail  string
		tells []string
	}{
		{"model:429x2", []string{"token 2   transient: the provider's rate limit is reached; not paid for\n", "1 paid call, 2 calls refused by the provider (not paid), 1 result.", "4 attempts (2), 2 refused calls (0)\n"}},
		{"model:refusal", []string{`token 2   unusable: \d+ in, \d+ out tokens, \$0\.\d{6}: refusal\n`, "parked     product:794      unusable output: refusal; it stands in review\n", `1 paid call (1 unusable; \$0\.\d{6}), 0 results.`, "There is no result: product:794 stands in review, and waits for a person. Why: engang show product:794\n", "1 unusable answer (0), 0 results (1)\n"}},
		{"model:filter", []string{"parked     product:794      unusable output: the provider's content filter stopped the output; it stands in review\n", "0 results.\n"}},
		{"model:schema", []string{"parked     product:794      unusable output: the output does not fit the schema", "0 results.\n"}},
		{"model:missing", []string{`token 2   flagged: \d+ in`, "draft      product:794      /summary: .* it stands in review\n", "1 paid call, 0 results.\n", ": 0 results (1)\n"}},
		{"model:length", []string{"token 2   truncated ", `2 paid calls (1 unusable; \$0\.\d{6}), 1 result.`}},
		{"model:500", []string{"what it cost is not known\n", "1 paid call, 1 failed call (perhaps paid), 1 result.", "3 attempts (2), 1 failed call (0)\n"}},
		{"worker:kill@after-call", []string{"token 2   lost .*whether it called is not known\n", "1 paid call, 1 call whose answer was lost (perhaps paid), 1 result.", "3 attempts (2), 1 lost answer (0)\n"}},
		{"worker:kill@after-claim", []string{"attempt 2  product:794/product-card@3   token 2   worker killed before the model call\n", "attempt 1  product:794/product-card@3   token 1   lost ", "1 paid call, 1 result.", ": 3 attempts (2)\n"}},
	} {
		t.Run(c.fail, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
				e.Args, e.Now = []string{"local", "--once", "--speed", "100", "--fail", c.fail}, time.Now
			})
			if code != 1 || !strings.HasPrefix(stderr, "engang: not as promised: ") {
				t.Errorf("exit %d %s", code, stderr)
			}
			for _, want := range c.tells {
				plain := strings.NewReplacer("(", `\(`, ")", `\)`).Replace(want)
				if !regexp.MustCompile(plain).MatchString(stdout + stderr) {
					t.Errorf("%q is not in %s%s", want, stdout, stderr)
				}
			}
		})
	}
}

// process runs the program in a process of its own, to its end.
func process(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KUMO_") }), asProgram+"=1")
	var out, faults bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &faults
	_ = cmd.Run() // its exit code says it
	return cmd.ProcessState.ExitCode(), out.String(), faults.String()
}

// end interrupts a child, and waits for it.
func end(t *testing.T, cmd *exec.Cmd, out io.Reader) string {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v %s", err, rest)
	}
	return string(rest)
}

// In a folder in which the sample stands already, what is counted is what this run adds: nothing.
func TestASecondRunOverTheSameDataIsChecked(t *testing.T) {
	t.Parallel()
	args := []string{"local", "--once", "--speed", "100", "--data", filepath.Join(t.TempDir(), "data")}
	for i, want := range []string{"3 deliveries, 1 event, 1 paid call, 1 result.\n", "3 deliveries, 0 new events, 0 paid calls, 0 new results.\n", "3 deliveries, 0 new events, 0 paid calls, 0 new results.\n"} {
		if code, stdout, stderr := process(t, args...); code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("run %d: exit %d %s%s", i+1, code, stdout, stderr)
		}
	}
}

func TestASecondRunFailsWhereItAddsSomething(t *testing.T) {
	t.Parallel()
	args := []string{"local", "--speed", "100", "--data", filepath.Join(t.TempDir(), "data")}
	first, address, out := child(t, append(args, "--no-sample", "--port", "0")...)
	code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Now = []string{"send", "--set", "/name=Another", "--wait", "--target", address}, time.Now
	})
	if code != 0 {
		t.Fatal(stdout, stderr)
	}
	end(t, first, out)
	if code, stdout, stderr := process(t, append(args, "--once")...); code != 1 || !strings.Contains(stderr, "not as promised: 1 event (0)") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}

// A watched writer ends a run when something was written.
type watched struct {
	mu   sync.Mutex
	all  strings.Builder
	want string
	seen func()
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(b)
	if strings.Contains(w.all.String(), w.want) {
		w.seen()
	}
	return len(b), nil
}

// With a real model a lease is as long as it is deployed: nobody shall think that nothing happens.
func TestALongWaitIsTold(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out := &watched{want: "waits ", seen: cancel}
	code, _, stderr := runIn(ctx, func(e *program.Env) {
		e.Args, e.Now, e.Stdout = []string{"local", "--once", "--speed", "2"}, time.Now, out
	})
	line := regexp.MustCompile(`waits      product:794      for the lease of the killed worker to end, so that another may work: at \d\d:\d\d:\d\d, in [345]\d\.0 s\n`)
	if !line.MatchString(out.all.String()) || strings.Count(out.all.String(), "waits ") != 1 {
		t.Errorf("exit %d %s%s", code, out.all.String(), stderr)
	}
}

// A start takes from the file what it can: a recipe that was applied past it in a higher version stays live.
func TestAStartKeepsAHigherVersionAndSaysSo(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file, higher := filepath.Join(folder, "local.yaml"), filepath.Join(folder, "higher.yaml")
	write(t, file, string(raw))
	write(t, higher, strings.NewReplacer("version: 3 ", "version: 4 ", "You write short, factual", "You write very short, factual").Replace(string(raw)))
	args := []string{"local", "--no-sample", "--port", "0", "--data", filepath.Join(folder, "data"), "--config", file}
	first, address, out := child(t, args...)
	on := func(address string, args ...string) string {
		code, stdout, stderr := runIn(t.Context(), func(e *program.Env) { e.Args, e.Now = append(args, "--target", address), time.Now })
		if code != 0 {
			t.Fatalf("%v: exit %d %s%s", args, code, stdout, stderr)
		}
		return stdout
	}
	on(address, "apply", higher)
	end(t, first, out)

	write(t, file, strings.Replace(string(raw), "max_body: 512KiB", "max_body: 256KiB", 1))
	second, address, out := child(t, args...)
	var live control.Config
	if err := json.Unmarshal([]byte(on(address, "config", "--json")), &live); err != nil {
		t.Fatal(err)
	}
	for _, r := range live.Recipes {
		if r.Name == "product-card" && (r.Version != 4 || !strings.Contains(r.Instructions, "very short")) {
			t.Errorf("recipe %s, %s", r.Ref(), r.Instructions)
		}
	}
	for _, e := range live.Endpoints {
		if e.Name == "woo-shop" && e.MaxBody != 256<<10 {
			t.Errorf("endpoint %+v", e)
		}
	}
	on(address, "send", "--wait")
	if says := on(address, "show", "product:794"); !strings.Contains(says, "product-card@4") || strings.Contains(says, "product-card@3") {
		t.Error(says)
	}
	if says := end(t, second, out); !strings.Contains(says, "recipe product-card stays at version 4, which is live; the file has 3\n") {
		t.Error(says)
	}
}
