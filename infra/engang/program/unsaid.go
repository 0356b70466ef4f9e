package program

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"engang/shared/config"
)

// shortest is what a secret has at least: a shorter text is no secret, and stands in many others.
const shortest = 6

// unsaid takes out of what is told about a command what may be a secret among its arguments: what looks
// like one of a known kind, and what was given where the name of a secret's file belongs.
func (p *program) unsaid(text string) string {
	before := ""
	for _, a := range p.Args {
		flag, value, joined := strings.Cut(a, "=")
		if !joined || !strings.HasPrefix(a, "-") {
			flag, value = before, a
		}
		before = a
		if len(value) < shortest || flag != "--secret-file" && !config.IsSecret(value) {
			continue
		}
		for _, form := range []string{value, filepath.Clean(value)} {
			inJSON, _ := json.Marshal(form) // a text: it cannot fail
			for _, written := range []string{form, strings.Trim(strconv.Quote(form), `"`), strings.Trim(string(inJSON), `"`)} {
				text = strings.ReplaceAll(text, written, "("+lengthOf(value)+", not shown)")
			}
		}
	}
	return text
}
