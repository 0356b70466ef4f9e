package configfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"engang/infra/configfile"
	"engang/shared/document"
)

func TestParseJoinsDocumentsAndFiles(t *testing.T) {
	common, rest, _ := strings.Cut(base, "endpoints:\n")
	endpoints, recipes, _ := strings.Cut("endpoints:\n"+rest, "recipes:\n")
	recipes = "recipes:\n" + recipes
	want, err := parse(base)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"1-common.yaml": common, "2-woo.yml": "tenant: shop\n" + endpoints + "---\n" + recipes, "README.md": "no yaml", ".hidden.yaml": "nonsense: 1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := configfile.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(document.Pointer{})); diff != "" {
		t.Errorf("set of a folder (-want +got):\n%s", diff)
	}
	got, err = configfile.Read(filepath.Join(dir, "1-common.yaml"), filepath.Join(dir, "2-woo.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(document.Pointer{})); diff != "" {
		t.Errorf("set of two files (-want +got):\n%s", diff)
	}
}

// Files that are also applied each on its own repeat what they share.
func TestParseTakesWhatDocumentsShareWordForWord(t *testing.T) {
	want, err := parse(base)
	if err != nil {
		t.Fatal(err)
	}
	common, _, _ := strings.Cut(base, "endpoints:\n")
	got, err := configfile.Parse(configfile.Source{Name: "first.yaml", Text: []byte(base)}, configfile.Source{Name: "second.yaml", Text: []byte(common)})
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(document.Pointer{})); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	_, err = configfile.Parse(configfile.Source{Name: "first.yaml", Text: []byte(base)}, configfile.Source{Name: "second.yaml", Text: []byte(strings.Replace(common, "0.40", "0.41", 1))})
	if want := "second.yaml:6: /providers/openai: it stands in first.yaml, line 6, too"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("another price: %v", err)
	}
}

func TestAFileKnowsWhereItsPartsStand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(path, []byte(base), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := configfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for at, line := range map[string]int{"/endpoints/woo-shop/secrets/1": 17, "/endpoints/woo-shop": 13, "/recipes/card/version": 24, "/recipes/gone": 22, "/nothing": 1} {
		want := configfile.Fault{File: path, Line: line, At: at, Reason: "why", Remedy: "do"}
		if diff := cmp.Diff(want, f.Fault(at, "why", "do"), cmpopts.IgnoreUnexported(configfile.Fault{})); diff != "" {
			t.Errorf("%s: %s", at, diff)
		}
	}
	faults := configfile.Faults{f.Fault("/recipes/card", "b", "b"), f.Fault("/endpoints/woo-shop", "a", "a")}
	if f.Sort(faults); faults[0].Line != 13 {
		t.Errorf("order %v", faults)
	}
}

func TestParseRefusesDocumentsThatDisagree(t *testing.T) {
	tests := []struct{ name, second, want string }{
		{"another tenant", "tenant: other\n", "second.yaml:1: /tenant: it differs"},
		{"an endpoint twice", "endpoints:\n  woo-shop: {provider: openai, secrets: [ssm:hooks/a/1], events: {a: ignore}}\n", "second.yaml:2: /endpoints/woo-shop: it stands in first.yaml, line 13, too"},
		{"retention twice", "data: {event_days: 30}\n", "second.yaml:1: /data: it stands in first.yaml, line 4, too"},
		{"an anchor of the first document", "data: *card\n", "second.yaml:1: the alias has no anchor before it in this document"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			first := with(t, "  card:\n", "  card: &card\n")
			_, err := configfile.Parse(configfile.Source{Name: "first.yaml", Text: []byte(first)}, configfile.Source{Name: "second.yaml", Text: []byte(test.second)})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error\n%v\nwant it to say %q", err, test.want)
			}
		})
	}
}
