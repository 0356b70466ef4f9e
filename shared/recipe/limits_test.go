package recipe_test

import (
	"strings"
	"testing"

	"engang/shared/recipe"
)

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "Z", "0", "product-card", "a.b_c-D9", "x.", "x-", "x_", strings.Repeat("a", 64)} {
		if !recipe.IsName(name) {
			t.Errorf("%q is no name", name)
		}
	}
	for _, text := range []string{"", ".a", "-a", "_a", "a b", "a@3", "a/b", "a\n", "\na", "å", "aå", "a\xff", "a\x00", strings.Repeat("a", 65)} {
		if recipe.IsName(text) {
			t.Errorf("%q is a name", text)
		}
	}
}
