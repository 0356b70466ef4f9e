package configfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engang/infra/configfile"

	"github.com/google/go-cmp/cmp"
)

func TestFilesSayWhoseTheyAre(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       configfile.Head
		fault      string // of it
	}{
		{"a whole file", base, configfile.Head{Tenant: "shop", Environment: "test", Sections: []string{"version", "tenant", "environment", "data", "providers", "endpoints", "recipes"}}, ""},
		{"a part of one", "recipes: {}\n", configfile.Head{Sections: []string{"recipes"}}, ""},
		{"two documents that agree", "tenant: a\n---\ntenant: a\nenvironment: production\n", configfile.Head{Tenant: "a", Environment: "production", Sections: []string{"tenant", "environment"}}, ""},
		{"two documents that do not", "tenant: a\n---\ntenant: b\n", configfile.Head{Tenant: "a", Sections: []string{"tenant"}}, ":3: /tenant: it differs"},
		{"another fault far down", "tenant: a\nenvironment: test\nrecipes: {a: {policy: no}}\n", configfile.Head{Tenant: "a", Environment: "test", Sections: []string{"tenant", "environment", "recipes"}}, ""},
		{"a tenant that is a number", "tenant: 12\n", configfile.Head{Sections: []string{"tenant"}}, ":1: /tenant: not of the form"},
		{"a tenant with a space", "tenant: a b\n", configfile.Head{Sections: []string{"tenant"}}, ":1: /tenant: not of the form"},
		{"an environment of ours", "tenant: a\nenvironment: staging\n", configfile.Head{Tenant: "a", Sections: []string{"tenant", "environment"}}, ":2: /environment: not of the form"},
		{"what is no YAML", "tenant: a\ndata: {event_days: [7\n", configfile.Head{}, "cannot be read as YAML"},
		{"YAML of something else", "services:\n  web: {environment: test}\non: push\n", configfile.Head{Foreign: true}, ""},
		{"something else that is no YAML", "a: [\n", configfile.Head{Foreign: true}, ""},
		{"nothing", "", configfile.Head{Foreign: true}, ""},
	} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		heads, err := configfile.Heads(filepath.Dir(path))
		if err != nil || len(heads) != 1 {
			t.Fatalf("%s: %v, %v", c.name, heads, err)
		}
		got := heads[0]
		if (len(got.Faults) > 0) != (c.fault != "") || !strings.Contains(got.Faults.Error(), c.fault) {
			t.Errorf("%s: faults %v, want %q", c.name, got.Faults, c.fault)
		}
		got.Faults, c.want.File = nil, path
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if heads, err := configfile.Heads(filepath.Join(t.TempDir(), "none")); err != nil || len(heads) != 0 {
		t.Errorf("a folder that is not there: %v, %v", heads, err)
	}
}

func TestAFolderWithoutFilesIsNoConfiguration(t *testing.T) {
	if _, err := configfile.Open(t.TempDir()); !errors.Is(err, configfile.ErrNoFile) {
		t.Error(err)
	}
}
