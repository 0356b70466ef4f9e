package artifacts_test

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/program"
)

// The first run keeps its promise with the built functions too.
func TestTheFirstRunFromBuiltFunctions(t *testing.T) {
	folder := built(t)
	t.Chdir(root) // where the template is
	if !strings.HasPrefix(folder, "/") {
		folder = strings.TrimPrefix(folder, root+"/")
	}
	var out, faults bytes.Buffer
	code := program.Run(t.Context(), program.Env{
		Args: []string{"local", "--once", "--artifacts", folder}, Stdout: &out, Stderr: &faults, Getenv: func(string) string { return "" },
		Now: time.Now, HTTP: http.DefaultClient, Command: "engang", Version: "test",
	})
	for _, want := range []string{"functions  " + folder, "token 1   worker killed before the model call", "token 2   model: ", "\n  3 deliveries, 1 event, 1 paid call, 1 result.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not told", want)
		}
	}
	if code != 0 {
		t.Errorf("exit %d %s%s", code, out.String(), faults.String())
	}
}

// What does not run here is said before anything starts.
func TestTheFirstRunSaysWhatIsWrongWithBuiltFunctions(t *testing.T) {
	built(t) // only where functions run at all
	t.Chdir(root)
	foreign := t.TempDir()
	if err := os.Mkdir(foreign+"/ConsoleFunction", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(foreign+"/ConsoleFunction/bootstrap", []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for folder, says := range map[string]string{t.TempDir(): "build them first: sam build --parameter-overrides Architecture=", foreign: "not built for this machine"} {
		var out, faults bytes.Buffer
		code := program.Run(t.Context(), program.Env{
			Args: []string{"local", "--once", "--artifacts", folder}, Stdout: &out, Stderr: &faults, Getenv: func(string) string { return "" },
			Now: time.Now, HTTP: http.DefaultClient, Command: "engang", Version: "test",
		})
		if code != 2 || !strings.Contains(faults.String(), says) || out.Len() > 0 {
			t.Errorf("exit %d %s%s", code, out.String(), faults.String())
		}
	}
}
