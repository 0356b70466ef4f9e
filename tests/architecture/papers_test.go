package architecture_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The protocol is read beside the code: each write of the store stands in its table, and nothing that is not there.
func TestTheProtocolNamesEveryWrite(t *testing.T) {
	none(t, undescribed(read(t, "infra/protocol.md"), read(t, "shared/dynamo/testdata/expressions.txt")))
}

var statementName = regexp.MustCompile("`([a-z]+[A-Za-z]*)`")

// undescribed compares the table of writes with the expressions that are sent.
func undescribed(protocol, expressions string) (faults []string) {
	_, section, _ := strings.Cut(protocol, "\n## 3. ")
	section, _, _ = strings.Cut(section, "\n## 4. ")
	named, sent := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && !strings.Contains(cells[1], "#") {
			for _, name := range statementName.FindAllStringSubmatch(cells[2], -1) {
				named[name[1]] = true
			}
		}
	}
	for line := range strings.Lines(expressions) {
		if name := strings.TrimSpace(line); name != "" && line[0] != ' ' {
			sent[strings.TrimSuffix(name, " kept")] = true
		}
	}
	for name := range sent {
		if !named[name] {
			faults = append(faults, name+" is sent, and not in the protocol")
		}
	}
	for name := range named {
		if !sent[name] {
			faults = append(faults, name+" is in the protocol, and never sent")
		}
	}
	return faults
}

func TestTheProtocolRuleFindsBothDifferences(t *testing.T) {
	protocol := "\n## 3. Writes\n| # | statements in `expr.go` | what |\n|---|---|---|\n| W1 | `putEvent`, with `gone` | `stores` |\n## 4. Else\n| W2 | `putConflict` | |\n"
	found(t, undescribed(protocol, "putEvent\n  \n  #pk\nputEvent kept\n  x\nputConflict\n  \n  #pk\n"), "gone is in the protocol, and never sent", "putConflict is sent, and not in the protocol")
}

// A paper that a comment or another paper sends its reader to is there.
func TestPapersThatAreNamedExist(t *testing.T) {
	var faults []string
	for _, file := range kept(t) {
		if ext := path.Ext(file); ext == ".go" && !strings.HasPrefix(file, "tests/architecture/") || ext == ".md" {
			faults = append(faults, nowhere(file, read(t, file))...)
		}
	}
	none(t, faults)
}

var paperName = regexp.MustCompile(`[\w./-]*\w\.md\b`)

// nowhere finds the papers that a file names and that are neither where the repository begins nor beside the file.
func nowhere(file, text string) (faults []string) {
	for n, line := range strings.Split(text, "\n") {
		for _, name := range paperName.FindAllString(line, -1) {
			if !slices.ContainsFunc([]string{name, path.Join(path.Dir(file), name)}, exists) {
				faults = append(faults, fmt.Sprintf("%s:%d names %s", file, n+1, name))
			}
		}
	}
	return faults
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}

func TestThePapersRuleFindsWhatIsNotThere(t *testing.T) {
	text := "// as infra/cost.md says\n// and README.md\n// and [it](../README.md)\n// and gone.md, section 4\n// infra/adr/9999-none.md.\n"
	found(t, nowhere("tests/x.go", text), "tests/x.go:4 names gone.md", "tests/x.go:5 names infra/adr/9999-none.md")
}
