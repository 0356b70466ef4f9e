package architecture_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestTemplateSetsWhatTheCodeReads(t *testing.T) {
	files := sources(t)
	r := reader{repositoryTemplate(t)}
	for _, function := range functions(kept(t)) {
		t.Run(function, func(t *testing.T) {
			set, _ := r.any(resource(function), "Environment", "Variables").(map[string]any)
			asked, faults := settingsRead(files, "functions/"+function)
			none(t, faults)
			if len(asked) == 0 {
				t.Fatal("no setting found in its code: the rule would see nothing")
			}
			none(t, unlikeSettings(asked, set))
		})
	}
}

// unlikeSettings finds variables that the code reads and nobody sets, and the other way round.
func unlikeSettings(asked []string, set map[string]any) []string {
	var faults []string
	for _, name := range asked {
		if _, ok := set[name]; !ok {
			faults = append(faults, name+" is read and not set")
		}
	}
	for name := range set {
		if !slices.Contains(asked, name) {
			faults = append(faults, name+" is set and not read")
		}
	}
	return faults
}

// The methods of settings.Reader that look a variable up.
var lookups = []string{"Text", "TextOr", "URL", "Int", "Seconds", "Level", "TableName", "SecretPath"}

// settingsRead lists the names that the code below a folder reads through settings.Reader. A name that is
// no literal is a fault, since it could not be compared.
func settingsRead(files []source, folder string) (names, faults []string) {
	for _, s := range files {
		if !strings.HasPrefix(s.name, folder+"/") || strings.HasSuffix(s.name, "_test.go") || !strings.Contains(s.text, `"engang/shared/settings"`) {
			continue
		}
		set, file, err := parsed(s)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(lookups, sel.Sel.Name) {
				return true
			}
			if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				name, _ := strconv.Unquote(lit.Value)
				names = append(names, name)
			} else {
				faults = append(faults, fmt.Sprintf("%s:%d reads a setting whose name is no literal", s.name, set.Position(call.Pos()).Line))
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.Compact(names), faults
}

func TestSettingsRuleFindsDrift(t *testing.T) {
	files := []source{
		{"functions/a/handler/new.go", "package handler\n\nimport \"engang/shared/settings\"\n\nfunc f(name string) {\n\tr := settings.FromEnv()\n\tr.Text(\"TABLE_NAME\")\n\tr.Int(name, 1, 2)\n\tr.Seconds(\"OLD\", 0)\n}\n"},
		{"functions/b/main.go", "package main\n\nimport \"engang/shared/settings\"\n\nvar x = settings.FromEnv().Text(\"OTHER\")\n"},
	}
	asked, faults := settingsRead(files, "functions/a")
	found(t, faults, "functions/a/handler/new.go:8 reads a setting whose name is no literal")
	found(t, unlikeSettings(asked, map[string]any{"TABLE_NAME": "", "NEW": ""}), "OLD is read and not set", "NEW is set and not read")
}

func TestOnlySettingsReadTheEnvironment(t *testing.T) {
	for _, s := range sources(t) {
		none(t, environmentReads(s))
	}
}

// environmentReads finds code of a binary that reads the environment past shared/settings.
func environmentReads(s source) []string {
	top, _, _ := strings.Cut(s.name, "/")
	exempt := strings.HasSuffix(s.name, "_test.go") || strings.HasSuffix(path.Base(path.Dir(s.name)), "test") || path.Dir(s.name) == "shared/settings"
	if exempt || top != "shared" && top != "functions" {
		return nil
	}
	var faults []string
	for n, line := range strings.Split(s.text, "\n") {
		for _, call := range []string{"os.Getenv(", "os.LookupEnv(", "os.Environ(", "syscall.Getenv("} {
			if strings.Contains(line, call) && !strings.Contains(line, call+`"AWS_LAMBDA_`) { // what Lambda itself says
				faults = append(faults, fmt.Sprintf("%s:%d calls %s)", s.name, n+1, call))
			}
		}
	}
	return faults
}

func TestEnvironmentRuleFindsReads(t *testing.T) {
	text := "package a\n\nvar x = os.Getenv(\"X\")\n"
	found(t, environmentReads(source{"shared/a/a.go", text}), "shared/a/a.go:3 calls os.Getenv()")
	found(t, environmentReads(source{"functions/a/main.go", "package main\n\nvar x = os.Getenv(\"AWS_LAMBDA_FUNCTION_NAME\")\n"}))
	found(t, environmentReads(source{"shared/dynamo/dynamotest/engine.go", text}))
	found(t, environmentReads(source{"infra/engang/main.go", text}))
}
