// Figures draws what the proofs printed, as SVG: the crash matrix, and what an event costs against how many are stored.
//
//	go test ./tests/crash -count=1 -args -json "$PWD/tests/figures/crash.json"
//	for n in 1000 10000 100000; do go run ./infra/engang bench --stored $n --json; done | jq -s > tests/figures/bench.json
//	go run ./tests/figures
//
// It reads these two files, and writes crash.svg and cost.svg beside them. `go test ./tests/figures` holds the pictures
// against the files.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	dir := filepath.Join("tests", "figures")
	if err := draw(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pictures are the files that are drawn, each from its figures.
var pictures = []struct {
	from, to string
	draw     func(raw []byte) (string, error)
}{
	{"crash.json", "crash.svg", crashMatrix},
	{"bench.json", "cost.svg", costOfStored},
}

func draw(dir string) error {
	for _, p := range pictures {
		raw, err := os.ReadFile(filepath.Join(dir, p.from))
		if err != nil {
			return fmt.Errorf("read figures: %w", err)
		}
		svg, err := p.draw(raw)
		if err != nil {
			return fmt.Errorf("draw %s: %w", p.from, err)
		}
		if err := os.WriteFile(filepath.Join(dir, p.to), []byte(svg), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", p.to, err)
		}
	}
	return nil
}

func read[T any](raw []byte) (figures T, err error) {
	err = json.Unmarshal(raw, &figures)
	return figures, err
}
