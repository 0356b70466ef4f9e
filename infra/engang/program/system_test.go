package program_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/program"
	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/control"
)

// asProgram is set where this test binary is to be the program itself: for what needs a process to kill.
const asProgram = "ENGANG_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(program.Main())
	}
	os.Exit(m.Run())
}

// at the real clock: signatures are checked against it.
func live(t *testing.T, s *local.System, args ...string) (int, string, string) {
	t.Helper()
	return runIn(t.Context(), func(e *program.Env) { e.Args, e.Now = append(args, "--target", s.URL()), time.Now })
}

type sent struct {
	Sent     int
	Answers  map[string]int
	Statuses map[string]int
	Events   []string
	Final    []struct{ State, Outcome string }
}

func TestFiftyDeliveriesAreOneEventAndOneResult(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{})
	code, stdout, stderr := live(t, s, "send", "woocommerce/product.updated", "--set", "/id=900", "--repeat", "50", "--parallel", "50", "--wait", "--json")
	var got sent
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		t.Fatalf("exit %d %s%s", code, stdout, stderr)
	}
	if got.Sent != 50 || got.Answers["accepted"] != 1 || got.Answers["duplicate"] != 49 || len(got.Events) != 1 || got.Final[0].Outcome != "completed" {
		t.Errorf("sent %s", stdout)
	}
	code, stdout, _ = live(t, s, "show", "product:900", "--json")
	var o control.Object
	if err := json.Unmarshal([]byte(stdout), &o); err != nil || code != 0 {
		t.Fatal(err, stdout)
	}
	called := 0
	for _, a := range o.Operations[0].Attempts {
		if a.Called != nil && *a.Called {
			called++
		}
	}
	if o.Deliveries != 50 || len(o.Operations) != 1 || o.Operations[0].State != "completed" || called != 1 || len(o.Results) != 1 || s.Stub().Count() != 1 {
		t.Errorf("object %s", stdout)
	}
}

func TestTwistedDeliveriesLeaveNothing(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	for _, c := range []struct {
		args   []string
		status string
		code   int
	}{
		{[]string{"--twist", "bad-signature"}, "401", 1},
		{[]string{"--twist", "no-signature"}, "401", 1},
		{[]string{"--twist", "other-body"}, "401", 1},
		{[]string{"standard-webhooks/contact.created", "--twist", "stale"}, "401", 1},
		{[]string{"standard-webhooks/contact.created", "--twist", "future"}, "401", 1},
		{[]string{"woocommerce/ping"}, "200", 0},
		{[]string{"woocommerce/product.deleted"}, "200", 0}, // not worked on
	} {
		code, stdout, stderr := live(t, s, append([]string{"send", "--json"}, c.args...)...)
		var got sent
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != c.code || got.Statuses[c.status] != 1 {
			t.Errorf("%v: exit %d %s%s", c.args, code, stdout, stderr)
		}
	}
	if _, stdout, _ := live(t, s, "events", "--json"); stdout != `{"items":[],"next":""}`+"\n" {
		t.Errorf("events %s", stdout)
	}
	if code, stdout, _ := live(t, s, "send", "--twist", "base64"); code != 0 || !strings.Contains(stdout, "accepted") {
		t.Errorf("base64: exit %d %s", code, stdout)
	}
}

// A look at content is kept with who looked and why.
func TestContentIsShownToAPersonWithAReason(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{})
	if code, _, stderr := live(t, s, "send", "--set", "/id=77", "--wait"); code != 0 {
		t.Fatal(stderr)
	}
	code, stdout, stderr := live(t, s, "show", "product:77", "--body", "--output", "--reason", "wrong price", "--as", "ann")
	if code != 0 || !strings.Contains(stdout, `"id": 77`) || !strings.Contains(stdout, `"summary": `) {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	if _, stdout, _ := live(t, s, "show", "product:77"); strings.Contains(stdout, "Mug") {
		t.Errorf("shown unasked: %s", stdout)
	}
}

func TestCurlSendsWhatSendWould(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not on this machine: the command that is printed cannot be run")
	}
	s := localtest.Start(t, local.Options{Manual: true})
	code, command, stderr := live(t, s, "send", "--curl")
	if code != 0 {
		t.Fatal(stderr)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"status":"accepted"`) {
		t.Errorf("%s: %s, %v", command, out, err)
	}
}

func TestTheFirstRun(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runIn(t.Context(), func(e *program.Env) { e.Args, e.Now = []string{"local", "--once"}, time.Now })
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d %s%s", code, stdout, stderr)
	}
	clock := regexp.MustCompile(`\d\d:\d\d:\d\d\.\d\d`)
	var got []string
	for line := range strings.Lines(stdout) {
		if clock.MatchString(line) {
			got = append(got, strings.TrimSpace(clock.ReplaceAllString(line, "")))
		}
	}
	for i, want := range []string{
		`^delivery   product\.updated  product:794   new, stored in the inbox            200  +\d+ ms$`,
		`^delivery   product\.updated  product:794   duplicate 1                         200  +\d+ ms$`,
		`^attempt 1  product:794/product-card@3   token 1   worker killed before the model call$`,
		`^delivery   product\.updated  product:794   duplicate 2                         200  +\d+ ms$`,
		`^attempt 2  product:794/product-card@3   token 2   model: \d+ in, \d+ out tokens, \$0\.\d{5}$`,
		`^result     product:794      summary, \d tags, 1 attribute; accepted by policy auto$`,
	} {
		if i >= len(got) || !regexp.MustCompile(want).MatchString(got[i]) {
			t.Errorf("line %d of %q is not %s", i, got, want)
		}
	}
	for _, want := range []string{"engang local: ready in ", "(data in memory; keep it with --data DIR)", "/hooks/woo-shop", "secret: local-woo-secret", "built-in stub, costs nothing", "infra/local.yaml: 2 endpoints, 2 recipes", "\n  3 deliveries, 1 event, 1 paid call, 1 result.\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in %s", want, stdout)
		}
	}
}

// A number that differs from the promise is told, and fails.
func TestTheFirstRunFailsWhereANumberDiffers(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Now = []string{"local", "--once", "--speed", "100", "--fail", "model:500"}, time.Now
	})
	if code != 1 || !strings.Contains(stderr, "not as promised") || !strings.Contains(stderr, "3 attempts (2)") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}

func TestLocalSaysWhatIsWrong(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	busy := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	broken := filepath.Join(t.TempDir(), "local.yaml")
	if err := os.WriteFile(broken, []byte("version: 1\ntenant: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--port", busy}, "--port"},
		{[]string{"--fail", "store:up"}, "unknown fault"},
		{[]string{"--config", broken}, "local.yaml"},
		{[]string{"--config", "nowhere.yaml"}, "nowhere.yaml"},
		{[]string{"--port", "99999"}, "from 0 to 65535"},
		{[]string{"--port", "-1"}, "from 0 to 65535"},
		{[]string{"--speed", "-1"}, "from 1 to 200"},
		{[]string{"--speed", "0"}, "from 1 to 200"},
		{[]string{"--speed", "0.5"}, "from 1 to 200"},
		{[]string{"--speed", "1e9", "--once"}, "from 1 to 200"},
		{[]string{"--speed", "NaN"}, "from 1 to 200"},
		{[]string{"--once", "--no-sample"}, "--no-sample"},
		{[]string{"--log", t.TempDir()}, "--log"},
	} {
		code, _, stderr := run(t, t.Context(), append([]string{"local"}, c.args...)...)
		if code != 2 || !strings.Contains(stderr, c.says) {
			t.Errorf("%v: exit %d %s", c.args, code, stderr)
		}
	}
	t.Chdir(t.TempDir())
	if code, _, stderr := run(t, t.Context(), "local"); code != 2 || !strings.Contains(stderr, "template.yaml") {
		t.Errorf("outside of the repository: exit %d %s", code, stderr)
	}
}

// child starts the program in a process of its own and returns it with its address once it is ready.
func child(t *testing.T, args ...string) (*exec.Cmd, string, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KUMO_") }), asProgram+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	out := bufio.NewReader(pipe)
	address := regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/api`)
	for {
		line, err := out.ReadString('\n')
		if m := address.FindStringSubmatch(line); m != nil {
			return cmd, m[1], out
		}
		if err != nil {
			t.Fatalf("the program did not start: %v %s", err, stderr.String())
		}
	}
}

// A killed `local --data` goes on where it was: the operation that looks as if it ran is taken over.
func TestAKilledProgramGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	args := []string{"local", "--data", data, "--port", "0", "--no-sample", "--speed", "100"}
	first, address, _ := child(t, append(args, "--fail", "worker:kill@after-claimx9")...)
	code, _, stderr := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Now = []string{"send", "--set", "/id=55", "--target", address}, time.Now
	})
	if code != 0 {
		t.Fatal(stderr)
	}
	show := func(address string) control.Object {
		var o control.Object
		_, stdout, _ := runIn(t.Context(), func(e *program.Env) {
			e.Args, e.Now = []string{"show", "product:55", "--json", "--target", address}, time.Now
		})
		_ = json.Unmarshal([]byte(stdout), &o)
		return o
	}
	for o := show(address); len(o.Operations) == 0; o = show(address) {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(3 * local.Flush()) // what the program says that a kill may lose
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()

	second, address, out := child(t, args...)
	deadline := time.Now().Add(20 * time.Second)
	for o := show(address); len(o.Results) == 0 || o.Events[0].State != "settled"; o = show(address) {
		if time.Now().After(deadline) {
			t.Fatalf("not finished: %+v", o)
		}
		time.Sleep(20 * time.Millisecond)
	}
	attempts := show(address).Operations[0].Attempts
	if last := attempts[len(attempts)-1]; len(attempts) < 2 || attempts[0].Outcome != "lost" || last.Outcome != "usable" {
		t.Errorf("attempts %+v", attempts)
	}
	// An interrupt drains, says what is unfinished, and ends with 0.
	if err := second.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest := new(strings.Builder)
	for {
		line, err := out.ReadString('\n')
		rest.WriteString(line)
		if err != nil {
			break
		}
	}
	if err := second.Wait(); err != nil || !strings.Contains(rest.String(), "nothing is unfinished") {
		t.Errorf("%v: %s", err, rest)
	}
}

// An interrupt loses nothing, also of what was in flight: work that waits for its next try, and a letter that was looked at.
func TestAnInterruptKeepsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	first, address, out := child(t, "local", "--data", data, "--port", "0", "--no-sample", "--speed", "1", "--fail", "model:429x9")
	for _, args := range [][]string{{"send", "--set", "/id=57"}, {"send", "--set", "/id=null"}} {
		if code, _, stderr := runIn(t.Context(), func(e *program.Env) { e.Args, e.Now = append(args, "--target", address), time.Now }); code != 0 {
			t.Fatal(stderr)
		}
	}
	look := func(args ...string) string {
		_, stdout, _ := runIn(t.Context(), func(e *program.Env) { e.Args, e.Now = append(args, "--target", address), time.Now })
		return stdout
	}
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(look("show", "product:57"), "transient") || !strings.Contains(look("dlq"), "still parked"); {
		if time.Now().After(deadline) {
			t.Fatal(look("show", "product:57"), look("dlq"))
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := first.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(out)
	if err := first.Wait(); err != nil {
		t.Errorf("%v: %s", err, rest)
	}
	raw, err := os.ReadFile(filepath.Join(data, "sqs.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kept struct {
		Queues map[string]struct{ Messages []struct{ Body string } }
	}
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, q := range kept.Queues {
		n += len(q.Messages)
	}
	if n != 2 {
		t.Errorf("%d messages are kept, want the one of the work queue and the letter: %s", n, raw)
	}
}

func TestWhatComesInIsToldOnTheTerminal(t *testing.T) {
	t.Parallel()
	_, address, out := child(t, "local", "--port", "0", "--no-sample")
	code, _, stderr := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Now = []string{"send", "--set", "/id=56", "--target", address}, time.Now
	})
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"delivery   product.updated  product:56", "attempt 1  product:56/product-card@3  token 1  model: ", "settled completed"} {
		for {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatalf("%q was not told: %v", want, err)
			}
			if strings.Contains(line, want) {
				break
			}
		}
	}
}

func TestFaultsCanBePostedWhileItRuns(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	answer, err := http.Post(s.URL()+"/local/faults", "text/plain", strings.NewReader("store:down"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	code, stdout, stderr := live(t, s, "send")
	if code != 6 && code != 1 || !strings.Contains(stdout+stderr, "unavailable") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}
