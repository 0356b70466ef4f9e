package compiled_test

import (
	"os"
	"path/filepath"
	"testing"

	"engang/infra/configfile"
	"engang/shared/document"
	"engang/shared/recipe/compiled"
)

// BenchmarkExtract8KB takes the fields of the example's product recipe from a payload of 8 KB, and makes the prompt of
// them: pointers, HTML to text, masks, the canonical form and its digest.
func BenchmarkExtract8KB(b *testing.B) {
	top := filepath.Join("..", "..", "..")
	set, err := configfile.Read(filepath.Join(top, "infra", "local.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(top, "infra", "bench", "product.json"))
	if err != nil {
		b.Fatal(err)
	}
	doc, err := document.Decode(raw)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range set.Recipes {
		if r.Name != "product-card" {
			continue
		}
		c, err := compiled.New(r)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			in, err := c.Extract(doc)
			if err != nil {
				b.Fatal(err)
			}
			if prompt := c.Prompt(in); len(prompt.Input) == 0 {
				b.Fatal("no input")
			}
		}
	}
}
