package program_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"engang/infra/engang/program"
	"engang/shared/config"
	"engang/shared/control"
)

// A key that no provider names is stored for nobody, and that is said.
func TestAKeyThatNothingNamesSaysSo(t *testing.T) {
	for path, says := range map[string]string{"models/openai": "", "models/nosuch": "name ssm:models/nosuch as the api_key of a provider, and apply"} {
		api := serveCanned(t)
		api.answer["/api/config"] = control.Config{Kind: "config", Revision: 1, Common: control.Common{Common: config.Common{Providers: map[string]config.Provider{"openai": {APIKey: "ssm:models/openai"}}}}}
		code, stdout, stderr := given(t, "sk-of-the-test-0123456789", "secret", "set", path, "--target", api.url)
		if code != 0 || !strings.Contains(stdout, path+": set") || !strings.Contains(stdout, says) || says == "" && strings.Contains(stdout, "api_key") {
			t.Errorf("%s: exit %d %s%s", path, code, stdout, stderr)
		}
	}
}

func TestASecretThatIsNotGivenIsAnInterruption(t *testing.T) {
	api := serveCanned(t)
	nobody, typed := io.Pipe()
	defer typed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	code, stdout, stderr := runIn(ctx, func(e *program.Env) {
		e.Args, e.Stdin = []string{"secret", "set", "models/other", "--target", api.url}, reading{nobody, cancel}
	})
	if code != 1 || stdout != "" || !strings.Contains(stderr, "interrupted: nothing was stored") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}

// reading interrupts when it is read.
type reading struct {
	io.Reader
	interrupt func()
}

func (r reading) Read(b []byte) (int, error) {
	r.interrupt()
	return r.Reader.Read(b)
}
