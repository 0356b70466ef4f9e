package architecture_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/program"
	"engang/infra/local"
)

// A person does what the README says, in a folder of their own, with a local system in the place of the stack.
type person struct {
	folder, target string
	secret         string // that init has shown
}

var shown = regexp.MustCompile(`(?m)^  (\S{20,})$`)

// do runs a command, and tells how it ended and what it said.
func (p *person) do(t *testing.T, words []string) (code int, stdout, stderr string) {
	t.Helper()
	args := slices.Clone(words)
	for i, w := range args {
		switch {
		case w == "config":
			args[i] = p.folder
		case i > 0 && args[i-1] == "--target":
			args[i] = p.target
		}
	}
	pasted := "sk-of-a-person"
	if slices.Contains(words, "--provider") {
		pasted = p.secret
	}
	var out, said bytes.Buffer
	code = program.Run(t.Context(), program.Env{
		Args: args, Stdin: strings.NewReader(pasted + "\n"), Stdout: &out, Stderr: &said, Getenv: func(string) string { return "" },
		Now: time.Now, HTTP: http.DefaultClient, Command: "engang", Version: "test",
	})
	if m := shown.FindStringSubmatch(out.String()); words[0] == "init" && m != nil {
		p.secret = m[1]
	}
	return code, out.String(), said.String()
}

// arriving is a local system of the tenant that the README's commands make one of, with another endpoint and another
// key of the model applied: nothing that the commands do is done before.
func arriving(t *testing.T) *person {
	t.Helper()
	before := &person{folder: t.TempDir()}
	if code, _, stderr := before.do(t, []string{"init", "woocommerce", "--dir", "config", "--name", "other", "--tenant", "woocommerce"}); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	file := filepath.Join(before.folder, "other.yaml")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.NewReplacer("ssm:models/openai", "ssm:models/other", "{recipes: [other-note]}", "ignore").Replace(string(raw))
	if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	sys, err := local.Start(t.Context(), local.Options{TemplatePath: root + "/template.yaml", ConfigFiles: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sys.Close(context.WithoutCancel(t.Context())) })
	return &person{folder: t.TempDir(), target: sys.URL()}
}

// The commands of engang end well one after the other, and a webhook is worked on; without one of them a later one does not.
func TestTheReadmesCommandsLeadToAWebhookThatIsWorkedOn(t *testing.T) {
	all, _, err := deploying(read(t, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(c command) bool { return c.sam })
	for _, c := range []struct{ without, stops, says string }{
		{"", "", ""},
		{"init", "secret set hooks/woocommerce/1", "it is empty"},
		{"secret set hooks", "apply", "set it: engang secret set hooks/woocommerce/1"},
		{"secret set models", "apply", "set it: engang secret set models/openai"},
		{"apply", "send", "endpoint woocommerce"},
	} {
		t.Run(strings.TrimSpace("without "+c.without), func(t *testing.T) {
			t.Parallel()
			p := arriving(t)
			for _, one := range all {
				said := strings.Join(one.words, " ")
				if c.without != "" && strings.HasPrefix(said, c.without) {
					continue
				}
				code, stdout, stderr := p.do(t, one.words)
				if stops := c.stops != "" && strings.HasPrefix(said, c.stops); stops != (code != 0) {
					t.Fatalf("engang %s: exit %d\n%s%s", said, code, stdout, stderr)
				}
				if code != 0 {
					if !strings.Contains(stderr, c.says) {
						t.Errorf("engang %s says nothing of %s: %s", said, c.says, stderr)
					}
					return
				}
				if one.words[0] == "send" && !strings.Contains(stdout, "settled, review") {
					t.Errorf("engang %s: the event is not worked on:\n%s", said, stdout)
				}
				if p.secret != "" && one.words[0] != "init" && strings.Contains(stdout+stderr, p.secret) {
					t.Errorf("engang %s tells the secret", said)
				}
			}
		})
	}
}
