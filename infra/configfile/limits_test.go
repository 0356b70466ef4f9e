package configfile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/infra"
	"engang/infra/configfile"
	"engang/shared/document"
)

func TestParseBoundsWhatItReads(t *testing.T) {
	chain := "a0: &a0 [x]\n"
	for i := range 200 {
		chain += fmt.Sprintf("a%d: &a%d [*a%d]\n", i+1, i+1, i)
	}
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		alias := fmt.Sprintf("*a%d", i)
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Join([]string{alias, alias, alias, alias, alias, alias, alias, alias, alias, alias}, ", "))
	}
	tests := []struct{ name, text, want string }{
		{"more than 1 MiB", "# " + strings.Repeat("a", 1<<20), "larger than 1 MiB"},
		{"brackets without end", strings.Repeat("[", 500_000), "nested deeper than 64"},
		{"braces without end", strings.Repeat("{a: ", 200_000), "nested deeper than 64"},
		{"dashes without end", strings.Repeat("- ", 400_000), "nested deeper than 64"},
		{"question marks without end", strings.Repeat("? ", 400_000), "nested deeper than 64"},
		{"indentation without end", staircase(300), "nested deeper than 64"},
		{"anchors that nest", chain, "nested deeper than 64"},
		{"anchors that write out to ten thousand million values", bomb, "more than 100000 values"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(test.text)
			if _, ok := errors.AsType[configfile.Faults](err); !ok || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %.300v, want it to say %q", err, test.want)
			}
		})
	}
}

// staircase nests n mappings by indentation.
func staircase(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

func TestParseTakesAnchorsWithinADocument(t *testing.T) {
	want, err := parse(base)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse(strings.NewReplacer(
		"api_key: ssm:models/openai", "api_key: &key ssm:models/openai",
		"name: gpt-5.4-mini-2026-03-17", "name: &model gpt-5.4-mini-2026-03-17",
		"summary: {type: string}", "summary: &text {type: string}", "about: {type: string}", "about: *text",
	).Replace(base))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(document.Pointer{})); diff != "" {
		t.Errorf("set (-written out +with anchors):\n%s", diff)
	}
}

func TestParseTakesLineEndsAndByteOrderMarkOfOtherSystems(t *testing.T) {
	want, err := parse(base)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse("\ufeff" + strings.ReplaceAll(base, "\n", "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(document.Pointer{})); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(base)
	f.Add(string(infra.LocalConfig))
	f.Add(whole(f))
	for _, row := range append(refusals, limitRefusals...) {
		f.Add(strings.Replace(base, row.from, row.to, 1))
	}
	for _, text := range []string{"", "- 1", "a: &a [*a]", "? a\n: b", "%YAML 1.2\n---\n", "a: |x", "{", "\"\\", "!!map {}", "---\n...\n---", "a: 'b\n", "<<: *a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := parse(text)
		faults, refused := errors.AsType[configfile.Faults](err)
		switch {
		case err == nil && set.Scope.Tenant == "":
			t.Error("a file without tenant was taken")
		case err != nil && !refused:
			t.Errorf("error %v is not faults", err)
		}
		for _, fault := range faults {
			if fault.File != "shop.yaml" || fault.Reason == "" || fault.Remedy == "" || fault.Line < 0 {
				t.Errorf("an incomplete fault: %+v", fault)
			}
		}
	})
}
