package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever writes new figures draws them too.
func TestThePicturesAreThoseOfTheFigures(t *testing.T) {
	for _, p := range pictures {
		raw, err := os.ReadFile(p.from)
		if err != nil {
			t.Fatal(err)
		}
		want, err := p.draw(raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(p.to)
		if err != nil || string(got) != want {
			t.Errorf("%s is not what %s makes (%v): go run ./tests/figures", p.to, p.from, err)
		}
	}
}

// A violation is to be seen: its field has another colour.
func TestAViolationIsSeen(t *testing.T) {
	const whole = `{"rows":[{"flow":"a"}],"cells":[{"flow":"a","fault":"killed","combinations":7,"violations":0}],"points":7,"combinations":7}`
	for raw, red := range map[string]bool{whole: false, strings.Replace(whole, `"violations":0`, `"violations":1`, 1): true} {
		svg, err := crashMatrix([]byte(raw))
		if err != nil || strings.Contains(svg, broken) != red || strings.Contains(svg, held) == red || !strings.Contains(svg, ">7</text>") {
			t.Errorf("violation %t: %v\n%s", red, err, svg)
		}
	}
}

// Two sizes of one table make a line, and nothing of it is drawn outside of the picture.
func TestTheCostGoesByTheLogarithmOfWhatIsStored(t *testing.T) {
	const raw = `[{"costs":[{"stored":10,"flows":[{"name":"new event","writes":5,"write_units":15,"reads":2}]},{"stored":1000,"flows":[{"name":"new event","writes":5,"write_units":15,"reads":2}]}]},
		{"costs":[{"stored":100,"flows":[{"name":"new event","writes":5,"write_units":15,"reads":2}]}]}]`
	svg, err := costOfStored([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"with 10 to 1,000 events stored", `<circle cx="40.0" cy="90.0"`, `<circle cx="170.0" cy="90.0"`, `<circle cx="300.0" cy="90.0"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is not in\n%s", want, svg)
		}
	}
}

func TestWhatCannotBeDrawnIsAnError(t *testing.T) {
	for _, p := range pictures {
		for _, raw := range []string{"", "{", "[]", "{}", `{"rows":[]}`, `[{"costs":[{"stored":10}]}]`} {
			if svg, err := p.draw([]byte(raw)); err == nil {
				t.Errorf("%s of %q: %s", p.to, raw, svg)
			}
		}
	}
	if err := draw(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("figures that are not there were drawn")
	}
}
