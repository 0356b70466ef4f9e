package program_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"engang/infra"
	"engang/infra/engang/program"
	"engang/infra/local"
	"engang/infra/local/localtest"
)

// answers compiles the published schema. Strict, it also refuses what the schema does not know: a field
// that is written must be a field that is published.
func answers(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(infra.AnswersSchema))
	if err != nil {
		t.Fatal(err)
	}
	closeObjects(doc)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("answers.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("answers.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"]; ok {
			v["additionalProperties"] = false
		}
		for _, child := range v {
			closeObjects(child)
		}
	case []any:
		for _, child := range v {
			closeObjects(child)
		}
	}
}

func fits(t *testing.T, schema *jsonschema.Schema, name, text string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %s: %v", name, text, err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%s: %s: %v", name, text, err)
	}
}

func TestJSONFitsThePublishedSchema(t *testing.T) {
	t.Parallel()
	schema := answers(t)
	files, err := filepath.Glob("testdata/*-json.golden")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fits(t, schema, file, string(raw))
	}
	// What a running system says, too: golden documents are made by hand.
	s := localtest.Start(t, local.Options{})
	commands := [][]string{
		{"send", "--wait"}, {"send", "--set", "/id=1", "--twist", "bad-signature"}, {"events"}, {"operations"}, {"show", "product:794"}, {"show", "product:1"},
		{"show", "product:794", "--body", "--output", "--reason", "why"}, {"show", "product:794/product-card@3"}, {"version"}, {"events", "--stat"},
		{"config"}, {"dlq"}, {"dlq", "tidy", "--reason", "why"}, {"redrive", "product:794/product-card@3", "--reason", "why"}, {"redrive", "product:794/product-card@3", "--dry-run"}, {"replay", "--dry-run"}, {"replay", "--reason", "why"}, {"apply", "../../local.yaml"}, {"apply", "testdata/shop.yaml", "--check"},
	}
	say := func(args []string) (stdout, stderr string) {
		_, stdout, stderr = runIn(t.Context(), func(e *program.Env) { e.Args, e.Now = append(args, "--json", "--target", s.URL()), time.Now })
		return stdout, stderr
	}
	sent, _ := say(commands[0])
	commands = append(commands, []string{"show", regexp.MustCompile(`evt_[a-z0-9]+`).FindString(sent)})
	for _, args := range commands {
		stdout, stderr := say(args)
		for stream, text := range map[string]string{"stdout": stdout, "stderr": stderr} {
			if text != "" {
				fits(t, schema, strings.Join(args, " ")+" "+stream, text)
			}
		}
	}
	for _, bad := range []string{`{"kind":"event"}`, `{"items":[{"kind":"event"}],"next":""}`, `{"version":"1","extra":true}`, `{}`} {
		var doc any
		if err := json.Unmarshal([]byte(bad), &doc); err != nil {
			t.Fatal(err)
		}
		if schema.Validate(doc) == nil {
			t.Errorf("the schema lets %s through", bad)
		}
	}
}
