// Package simulation_test holds the system's own code against its promises in virtual time, with faults that a seed
// decides. The histories and what judges them are in infra/simulation, since a command makes them too.
package simulation_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"engang/infra/simulation"
)

// seeds is how many histories every run of the tests makes. `go run ./infra/engang simulate --seeds 10000` makes more.
const seeds = 250

func TestNoSeedBreaksAPromise(t *testing.T) {
	var sum simulation.Counts
	var broken []simulation.Outcome
	err := simulation.Many(t.Context(), simulation.Options{Seed: 1}, seeds, runtime.GOMAXPROCS(0), func(o simulation.Outcome) bool {
		sum.Add(o.Counts)
		if len(o.Violations) > 0 {
			broken = append(broken, o)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", sum)
	for i, o := range broken {
		tries := 0
		if i == 0 { // one is enough to begin with
			tries = 200
		}
		t.Error(explained(t, simulation.Options{}, o, tries))
	}
	// A simulation in which nothing happens proves nothing.
	for name, n := range map[string]int{
		"deliveries": sum.Deliveries, "messages given twice": sum.Repeats, "sweeps": sum.Sweeps, "decisions": sum.Decisions, "crashes": sum.Crashes, "lost answers": sum.LostAnswers,
		"stalls": sum.Stalls, "runs out of time": sum.TimesOver, "faults of the model": sum.ModelFaults, "takeovers": sum.Takeovers, "calls that were cut off": sum.Unrecorded, "outputs asked for again": sum.Renewed,
		"calls of erasures": sum.Erasures, "erased events": sum.Erased, "bodies in the bucket": sum.Bodies, "deliveries of many events": sum.Batches, "expired items": sum.Expired,
	} {
		if n < 10 {
			t.Errorf("only %d %s in %d histories", n, name, seeds)
		}
	}
}

// explained is what the command says of a seed that breaks a promise.
func explained(t *testing.T, o simulation.Options, broken simulation.Outcome, tries int) string {
	t.Helper()
	f, err := simulation.Explain(t.Context(), o, broken, tries)
	if err != nil {
		t.Fatal(err)
	}
	f.Command = fmt.Sprintf("go run ./infra/engang simulate --seed %d", f.Seed)
	var b strings.Builder
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// digestOf is the environment variable that makes a process of this test print digests, and nothing else.
const digestOf = "ENGANG_SIMULATION_DIGESTS"

// same are the seeds whose histories are made more than once.
const same = 12

func TestASeedMakesTheSameHistoryEachTime(t *testing.T) {
	own := digests(t)
	if os.Getenv(digestOf) != "" {
		fmt.Println("digests", own)
		return
	}
	if again := digests(t); again != own {
		t.Errorf("in one process:\n%s\n%s", own, again)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$", "-test.count", "1")
	cmd.Env = append(os.Environ(), digestOf+"=1", "GOMAXPROCS=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if line, _, _ := strings.Cut(string(out), "\n"); line != "digests "+own {
		t.Errorf("in another process:\n%s\n%s", own, line)
	}
}

func digests(t *testing.T) string {
	t.Helper()
	all := make([]string, same)
	err := simulation.Many(t.Context(), simulation.Options{Seed: 1}, same, runtime.GOMAXPROCS(0), func(o simulation.Outcome) bool {
		all[o.Seed-1] = o.Digest
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}
