package architecture_test

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"engang/shared/webhook"
)

// textFile tells the files that people wrote: captured payloads and golden files are data.
func textFile(name string) bool {
	if strings.Contains(name, "/testdata/") || name == "go.sum" {
		return false
	}
	switch path.Ext(name) {
	case ".go", ".md", ".yaml", ".toml", ".conf", ".mod":
		return true
	}
	return strings.HasPrefix(name, ".ci/")
}

// The patterns are put together from parts, so that this file does not match itself.
var (
	machinePath  = regexp.MustCompile(`(?:/` + `home|/` + `root|/` + `Users|/` + `tmp|/` + `work)/[A-Za-z0-9_.-]+|[A-Z]:\\` + `Users`)
	registryHost = regexp.MustCompile(`arti` + `factory|jf` + `rog|proxy\.` + `golang\.org|pypi\.` + `org|index\.` + `crates\.io|registry\.` + `npmjs\.org`)
	unfinished   = regexp.MustCompile(`\b(?:TO` + `DO|FIX` + `ME)\b(?:\(#\d+\))?`)
)

func TestTextsNameNoMachineAndNoLooseEnd(t *testing.T) {
	for _, name := range kept(t) {
		if textFile(name) {
			none(t, blemishes(name, read(t, name)))
		}
	}
}

// blemishes finds paths of somebody's machine, hosts of package registries, and notes of work to do that
// name no issue.
func blemishes(name, text string) []string {
	var faults []string
	for n, line := range strings.Split(text, "\n") {
		add := func(what, match string) {
			faults = append(faults, fmt.Sprintf("%s:%d %s: %s", name, n+1, what, match))
		}
		if m := machinePath.FindString(line); m != "" {
			add("machine path", m)
		}
		if m := registryHost.FindString(line); m != "" {
			add("registry host", m)
		}
		for _, m := range unfinished.FindAllString(line, -1) {
			if !strings.HasSuffix(m, ")") {
				add("no issue", m)
			}
		}
	}
	return faults
}

func TestTextRuleFindsBlemishes(t *testing.T) {
	bad := strings.Join([]string{
		"dir := \"/" + "home/ann/x\"",
		"pip install -i https://pypi." + "org/simple",
		"// TO" + "DO(#12) later",
		"// TO" + "DO: later, and FIX" + "ME",
		"GET /api/events, /hooks/woo-shop",
	}, "\n")
	found(t, blemishes("a.go", bad),
		"a.go:1 machine path: /"+"home/ann", "a.go:2 registry host: pypi."+"org",
		"a.go:4 no issue: TO"+"DO", "a.go:4 no issue: FIX"+"ME")
}

var fence = regexp.MustCompile("(?s)```mermaid\n(.*?)```")

func TestReadmeShowsTheLifecyclesAsTheyAre(t *testing.T) {
	golden := map[string]string{}
	for _, name := range kept(t) {
		if path.Ext(name) == ".mmd" {
			golden[name] = read(t, name)
		}
	}
	if len(golden) == 0 {
		t.Fatal("no golden picture of a lifecycle found")
	}
	none(t, unlike(read(t, "README.md"), golden))
}

// unlike finds golden pictures of lifecycles that the text does not show, and pictures of lifecycles in it
// that are no golden ones.
func unlike(text string, golden map[string]string) []string {
	shown := map[string]bool{}
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		shown[m[1]] = true
	}
	var faults []string
	known := map[string]bool{}
	for name, picture := range golden {
		known[picture] = true
		if !shown[picture] {
			faults = append(faults, "README.md does not show "+name)
		}
	}
	for picture := range shown {
		if strings.HasPrefix(picture, "stateDiagram") && !known[picture] {
			faults = append(faults, "README.md shows a lifecycle that is no golden file")
		}
	}
	return faults
}

func TestPictureRuleFindsDrift(t *testing.T) {
	golden := map[string]string{"a.mmd": "stateDiagram-v2\n a --> b\n", "b.mmd": "stateDiagram-v2\n b --> c\n"}
	text := "```mermaid\nstateDiagram-v2\n a --> b\n```\n\n```mermaid\nflowchart LR\n x --> y\n```\n\n```mermaid\nstateDiagram-v2\n b --> old\n```\n"
	found(t, unlike(text, golden), "README.md does not show b.mmd", "README.md shows a lifecycle that is no golden file")
}

var pathInText = regexp.MustCompile("`((?:functions|shared|infra|events|tests|\\.ci)/[A-Za-z0-9_./-]+)`")

func TestDocumentsNameFilesThatExist(t *testing.T) {
	files := kept(t)
	for _, name := range files {
		if path.Ext(name) == ".md" {
			none(t, deadPaths(name, read(t, name), files))
		}
	}
}

// deadPaths finds paths in back quotes that are neither a file nor a folder of the repository.
func deadPaths(name, text string, files []string) []string {
	var faults []string
	for _, m := range pathInText.FindAllStringSubmatch(text, -1) {
		want := strings.TrimSuffix(m[1], "/")
		if !slices.ContainsFunc(files, func(f string) bool { return f == want || strings.HasPrefix(f, want+"/") }) {
			faults = append(faults, name+" names "+m[1])
		}
	}
	return faults
}

func TestPathRuleFindsDeadPaths(t *testing.T) {
	text := "`shared/a/a.go`, `shared/a/`, `shared/old.go`, `functions/<name>/x`, `/api/events`, `infra/gone`"
	found(t, deadPaths("a.md", text, []string{"shared/a/a.go"}), "a.md names shared/old.go", "a.md names infra/gone")
}

func TestReadmeNamesEverySender(t *testing.T) {
	none(t, unnamed(read(t, "README.md"), webhook.Names()))
}

// unnamed finds senders that the text does not name.
func unnamed(text string, names []string) []string {
	var faults []string
	for _, name := range names {
		if !strings.Contains(text, "`"+name+"`") {
			faults = append(faults, "README.md does not name "+name)
		}
	}
	return faults
}

func TestSenderRuleFindsOneThatIsNotNamed(t *testing.T) {
	found(t, unnamed("`a` and `bc`", []string{"a", "b"}), "README.md does not name b")
}
