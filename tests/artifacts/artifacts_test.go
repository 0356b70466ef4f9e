// Package artifacts_test runs the built functions, each as a process against a Lambda Runtime API over HTTP: what is
// deployed is what is tested, with its environment, its JSON and its exit codes.
//
// They are built with the flags of the README, or taken from the folder that ENGANG_ARTIFACTS names (that of
// `sam build` with this machine's Architecture).
package artifacts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"engang/infra/configfile"
	"engang/infra/local"
	"engang/infra/local/bootstrap"
	"engang/infra/local/localtest"
	"engang/shared/config"
)

const (
	root        = "../.."
	givenFolder = "ENGANG_ARTIFACTS"
)

var functions = []string{"receiver", "enrichment", "reconciler", "console"}

// scratch is where functions are built; it goes with the run.
var scratch string

func TestMain(m *testing.M) {
	at, err := os.MkdirTemp("", "engang-artifacts-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = at
	code := m.Run()
	os.RemoveAll(at)
	os.Exit(code)
}

// built is a folder as `sam build` fills it.
func built(t testing.TB) string {
	t.Helper()
	if bootstrap.Architecture() == "" {
		t.Skip("functions run on Linux alone, on arm64 or x86_64: nothing of them runs here")
	}
	if given := os.Getenv(givenFolder); given != "" {
		if !filepath.IsAbs(given) {
			given = filepath.Join(root, given) // as somebody at the top of the repository writes it
		}
		return given
	}
	folder, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// build builds every function once, as the README says.
var build = sync.OnceValues(func() (string, error) {
	flags, err := readmeFlags()
	if err != nil {
		return "", err
	}
	for _, name := range functions {
		if err := goBuild(flags, "./functions/"+name, filepath.Join(scratch, resource(name), "bootstrap")); err != nil {
			return "", err
		}
	}
	return scratch, nil
})

var builds = regexp.MustCompile(`(?m)^GOFLAGS='([^']+)' CGO_ENABLED=0 sam build`)

// readmeFlags are the flags that the README builds with.
func readmeFlags() (string, error) {
	raw, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return "", err
	}
	m := builds.FindSubmatch(raw)
	if m == nil {
		return "", fmt.Errorf("the README builds without GOFLAGS")
	}
	return string(m[1]), nil
}

func goBuild(flags, what, to string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", to, what)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS="+flags, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", what, err, out)
	}
	return nil
}

// resource is the logical id of a function: receiver's is ReceiverFunction.
func resource(function string) string {
	return strings.ToUpper(function[:1]) + function[1:] + "Function"
}

// start starts a system whose functions are the built ones.
func start(t testing.TB, o local.Options) *local.System {
	t.Helper()
	if o.NoThrottle = true; o.Artifacts == "" {
		o.Artifacts = built(t)
	}
	if o.Log == nil {
		o.Log = t.Output()
	}
	return localtest.Start(t, o)
}

// localSet is the configuration of the local example.
func localSet(t testing.TB) config.Set {
	t.Helper()
	set, err := configfile.Read(filepath.Join(root, "infra", "local.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// payloads are the files of events/<function>, by name.
func payloads(t testing.TB, function string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "events", function, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads of %s: %v", function, err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = raw
	}
	return all
}

// invoke gives a function an event, and reads its answer.
func invoke(t testing.TB, s *local.System, function string, event []byte, into any) {
	t.Helper()
	raw, err := s.Invoke(t.Context(), function, event)
	if err != nil {
		t.Fatalf("invoke %s: %v", function, err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s answers %s: %v", function, raw, err)
	}
}
