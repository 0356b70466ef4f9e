package architecture_test

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"

	"engang/infra/local/cloudformation"
)

var topLevel = []string{"functions", "shared", "infra", "events", "tests", "go.mod", "go.sum", "template.yaml", "samconfig.toml", "README.md"}

func TestTopLevelIsTheAgreedOne(t *testing.T) {
	none(t, misplaced(kept(t)))
}

// misplaced finds what the top level has too much or too little. Dot files are free.
func misplaced(files []string) []string {
	var faults []string
	there := map[string]bool{}
	for _, f := range files {
		top, _, _ := strings.Cut(f, "/")
		if !there[top] && !strings.HasPrefix(top, ".") && !slices.Contains(topLevel, top) {
			faults = append(faults, "top level has "+top)
		}
		there[top] = true
	}
	for _, want := range topLevel {
		if !there[want] {
			faults = append(faults, "top level has no "+want)
		}
	}
	return faults
}

func TestTopLevelRuleFindsSurplusAndAbsence(t *testing.T) {
	files := []string{".ci/run", "functions/a/main.go", "shared/b/b.go", "infra/c.go", "events/a/x.json", "tests/d/d_test.go",
		"go.mod", "go.sum", "template.yaml", "samconfig.toml", "internal/x.go", "internal/y.go", "Makefile"}
	found(t, misplaced(files), "top level has internal", "top level has Makefile", "top level has no README.md")
}

// functions lists the folders under functions/.
func functions(files []string) []string {
	var names []string
	for _, f := range files {
		parts := strings.Split(f, "/")
		if parts[0] == "functions" && len(parts) > 2 && !slices.Contains(names, parts[1]) {
			names = append(names, parts[1])
		}
	}
	return names
}

func TestEachFunctionHasItsResourceAndItsEvents(t *testing.T) {
	files := kept(t)
	none(t, strays(files, codeURIs(t, repositoryTemplate(t))))
	for _, f := range files {
		if strings.HasPrefix(f, "events/") && path.Ext(f) == ".json" && !json.Valid([]byte(read(t, f))) {
			t.Errorf("%s is no JSON", f)
		}
	}
}

// codeURIs maps the logical ids of the template's functions to their folders.
func codeURIs(t *testing.T, tpl *cloudformation.Template) map[string]string {
	t.Helper()
	uris := map[string]string{}
	for _, id := range tpl.OfType(functionType) {
		uris[id] = text(t, tpl, id, "CodeUri")
	}
	return uris
}

// strays finds functions without a resource, payloads or a main, and each of these without a function.
func strays(files []string, uris map[string]string) []string {
	var faults []string
	names := functions(files)
	for _, name := range names {
		id := resource(name)
		if uris[id] != "functions/"+name+"/" {
			faults = append(faults, fmt.Sprintf("functions/%s: %s has CodeUri %q", name, id, uris[id]))
		}
		if !slices.Contains(files, "functions/"+name+"/main.go") {
			faults = append(faults, "functions/"+name+" has no main.go")
		}
		if !slices.ContainsFunc(files, func(f string) bool { return path.Dir(f) == "events/"+name && path.Ext(f) == ".json" }) {
			faults = append(faults, "events/"+name+" has no payload")
		}
	}
	for id, uri := range uris {
		if !slices.ContainsFunc(names, func(name string) bool { return resource(name) == id }) {
			faults = append(faults, id+" has no folder "+uri)
		}
	}
	return faults
}

// resource is the logical id of a function: receiver's is ReceiverFunction.
func resource(function string) string {
	return string(unicode.ToUpper(rune(function[0]))) + function[1:] + "Function"
}

func TestFunctionRuleFindsStrays(t *testing.T) {
	files := []string{"functions/good/main.go", "functions/good/handler/handler.go", "events/good/x.json", "functions/bare/handler/handler.go", "functions/moved/main.go", "events/moved/x.json"}
	uris := map[string]string{"GoodFunction": "functions/good/", "MovedFunction": "functions/elsewhere/", "GoneFunction": "functions/gone/"}
	found(t, strays(files, uris),
		`functions/bare: BareFunction has CodeUri ""`, "functions/bare has no main.go", "events/bare has no payload",
		`functions/moved: MovedFunction has CodeUri "functions/elsewhere/"`, "GoneFunction has no folder functions/gone/")
}

func TestBuildsAreNeverCached(t *testing.T) {
	none(t, cachedBuilds(read(t, "samconfig.toml")))
}

// cachedBuilds finds a cache that looks at a function's own folder only: a change in shared/ would deploy
// the old binary.
func cachedBuilds(config string) []string {
	var faults []string
	for n, line := range strings.Split(config, "\n") {
		key, value, ok := strings.Cut(line, "=")
		if ok && strings.Trim(key, ` "'`) == "cached" && strings.HasPrefix(strings.TrimSpace(value), "true") {
			faults = append(faults, fmt.Sprintf("samconfig.toml:%d caches builds", n+1))
		}
	}
	return faults
}

func TestCacheRuleFindsACache(t *testing.T) {
	found(t, cachedBuilds("[default.build.parameters]\n# cached = true\nparallel = false\n  cached=true # faster\n"), "samconfig.toml:4 caches builds")
}

func TestTestAndProductionHaveTheirSettings(t *testing.T) {
	parameters, _ := named(t, read(t, "template.yaml"))
	none(t, unsettled(read(t, "samconfig.toml"), parameters))
}

// samSettings reads the lines of samconfig.toml, as "test.build.parallel": "true".
func samSettings(config string) map[string]string {
	all, table := map[string]string{}, ""
	for line := range strings.Lines(config) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		if name, ok := strings.CutPrefix(line, "["); ok {
			table = strings.TrimSuffix(strings.TrimSuffix(name, "]"), ".parameters")
		} else if key, value, ok := strings.Cut(line, "="); ok {
			all[table+"."+strings.TrimSpace(key)] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return all
}

// unsettled finds what the settings of the SAM command line lack: each stack of its own name, linted, built side by
// side, and with parameters that the template has.
func unsettled(config string, parameters map[string]bool) []string {
	all := samSettings(config)
	var faults []string
	stacks := map[string]string{}
	for _, env := range []string{"default", "test", "production"} {
		for key, want := range map[string]string{"validate.lint": "true", "build.parallel": "true", "build.cached": "false", "deploy.capabilities": "CAPABILITY_IAM", "deploy.resolve_s3": "true"} {
			if got := all[env+"."+key]; got != want {
				faults = append(faults, fmt.Sprintf("%s: %s is %q, want %s", env, key, got, want))
			}
		}
		stack := all[env+".global.stack_name"]
		if stack == "" || stacks[stack] != "" {
			faults = append(faults, fmt.Sprintf("%s: stack %q is that of %q too", env, stack, stacks[stack]))
		}
		stacks[stack] = env
		for given := range strings.FieldsSeq(all[env+".deploy.parameter_overrides"]) {
			if name, _, _ := strings.Cut(given, "="); !parameters[name] {
				faults = append(faults, fmt.Sprintf("%s: no parameter %s", env, name))
			}
		}
	}
	return faults
}

func TestSettingsOfStacksRuleFindsWhatIsMissing(t *testing.T) {
	good := read(t, "samconfig.toml")
	parameters := map[string]bool{"Alarms": true, "LogDays": true, "RecoveryDays": true}
	none(t, unsettled(good, parameters))
	for _, tc := range []struct{ old, new, says string }{
		{"[production.validate.parameters]\nlint = true", "", `production: validate.lint is "", want true`},
		{"[test.build.parameters]\nparallel = true", "[test.build.parameters]", `test: build.parallel is "", want true`},
		{`"engang-test"`, `"engang"`, `test: stack "engang" is that of "default" too`},
		{`"Alarms=all `, `"Alarm=all `, "production: no parameter Alarm"},
	} {
		found(t, unsettled(strings.Replace(good, tc.old, tc.new, 1), parameters), tc.says)
	}
}
