package architecture_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A pack is what `go list` says of a package.
type pack struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

// list runs `go list` for packages of the module.
func list(t *testing.T, args ...string) []pack {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Imports,Standard"}, args...)...)
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var packs []pack
	for d := json.NewDecoder(out); ; {
		var p pack
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packs = append(packs, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	return packs
}

const (
	awsSDK = "github.com/aws/aws-sdk-go-v2"
	openai = "github.com/openai/openai-go/v3"
)

// layers says for each kind of package under shared/ which kinds it may import.
var layers = map[string][]string{
	"domain":    {"domain"},
	"telemetry": {},
	"settings":  {},
	"usecase":   {"domain", "telemetry"},
	"adapter":   {"domain", "telemetry"},
}

// places says which layer each folder under shared/ belongs to.
var places = map[string]string{
	"audit": "domain", "config": "domain", "document": "domain", "inbox": "domain", "lifecycle": "domain", "mask": "domain", "object": "domain",
	"operation": "domain", "pause": "domain", "problem": "domain", "recipe": "domain", "secrets": "domain", "spend": "domain", "webhook": "domain",
	"settings": "settings", "telemetry": "telemetry",
	"catchup": "usecase", "control": "usecase", "enrich": "usecase", "intake": "usecase", "reconcile": "usecase",
	"bodies": "adapter", "certificates": "adapter", "dynamo": "adapter", "model": "adapter", "parameters": "adapter", "queue": "adapter", "woocommerce": "adapter",
}

// libraries says what single packages may import from outside of the standard library.
var libraries = map[string][]string{
	"recipe":     {"github.com/santhosh-tekuri/jsonschema/v6", "golang.org/x/net/html", "golang.org/x/text"},
	"bodies":     {awsSDK + "/aws", awsSDK + "/service/s3", "github.com/aws/smithy-go"},
	"dynamo":     {awsSDK + "/aws", awsSDK + "/service/dynamodb", "github.com/aws/smithy-go"},
	"parameters": {awsSDK + "/aws", awsSDK + "/service/ssm", "github.com/aws/smithy-go"},
	"queue":      {awsSDK + "/aws", awsSDK + "/service/sqs", "github.com/aws/smithy-go"},
	"settings":   {awsSDK + "/aws"},
	"model":      {openai + "/responses", openai + "/option", openai + "/shared", openai + "/packages"}, // never the whole client
}

func TestImportArrowsPointToTheDomain(t *testing.T) {
	none(t, arrows(list(t, "./..."), places, libraries))
}

// arrows applies the import rules to the packages of the module.
func arrows(packs []pack, places map[string]string, libraries map[string][]string) []string {
	var faults []string
	for _, p := range packs {
		own, ok := strings.CutPrefix(p.ImportPath, "engang/")
		if !ok {
			continue
		}
		parts := strings.Split(own, "/")
		for _, i := range p.Imports {
			if why := refused(parts, i, places, libraries); why != "" {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", own, strings.TrimPrefix(i, "engang/"), why))
			}
		}
		if parts[0] == "shared" && places[parts[1]] == "" {
			faults = append(faults, own+" is in no layer: say which in places")
		}
	}
	return faults
}

// refused says why a package may not import another, or "".
func refused(from []string, imported string, places map[string]string, libraries map[string][]string) string {
	ours, isOurs := strings.CutPrefix(imported, "engang/")
	to := strings.Split(ours, "/")
	help := isTestHelp(from)
	switch {
	case !isOurs && !strings.Contains(strings.Split(imported, "/")[0], "."):
		return "" // standard library
	case help || from[0] == "infra" || from[0] == "tests":
		if isOurs && from[0] != "tests" && to[0] == "tests" {
			return "tests/ is for tests"
		}
		if isOurs && from[0] == "infra" && isTestHelp(to) && !judges(from, to) {
			return "test help is for tests"
		}
		return ""
	case from[0] == "functions":
		return refusedToFunction(from, to, imported, isOurs)
	case !isOurs:
		if slices.ContainsFunc(libraries[from[1]], func(l string) bool { return imported == l || strings.HasPrefix(imported, l+"/") }) {
			return ""
		}
		return "not among its libraries"
	case to[0] != "shared":
		return "shared/ imports nothing above it"
	case isTestHelp(to):
		return "test help is for tests"
	case from[1] == to[1], slices.Contains(layers[places[from[1]]], places[to[1]]):
		return ""
	}
	return fmt.Sprintf("%s to %s", places[from[1]], places[to[1]])
}

func refusedToFunction(from, to []string, imported string, isOurs bool) string {
	switch {
	case isOurs && to[0] == "functions":
		if len(from) == 2 && slices.Equal(to, []string{"functions", from[1], "handler"}) {
			return ""
		}
		return "only a function's own main imports a handler"
	case isOurs && (to[0] != "shared" || isTestHelp(to)):
		return "a function imports shared/ only"
	case isOurs:
		return ""
	}
	allowed := []string{"github.com/aws/aws-lambda-go", awsSDK + "/aws"}
	if slices.ContainsFunc(allowed, func(l string) bool { return imported == l || strings.HasPrefix(imported, l+"/") }) {
		return ""
	}
	return "a function has no library of its own"
}

// judges tells the one import of test help that a program has: its simulation holds a table against the rules that the
// tests hold theirs against.
func judges(from, to []string) bool {
	return slices.Equal(from, []string{"infra", "simulation"}) && slices.Equal(to, []string{"shared", "dynamo", "dynamotest", "invariants"})
}

// isTestHelp tells shared/<x>/<x>test, and what is below it, from what goes into a binary.
func isTestHelp(parts []string) bool {
	return len(parts) > 2 && parts[0] == "shared" && parts[2] == parts[1]+"test"
}

func TestImportRuleFindsWrongArrows(t *testing.T) {
	packs := []pack{
		{ImportPath: "engang/shared/inbox", Imports: []string{"time", "engang/shared/object", "engang/shared/dynamo", "github.com/x/y"}},
		{ImportPath: "engang/shared/enrich", Imports: []string{"engang/shared/inbox", "engang/shared/queue"}},
		{ImportPath: "engang/shared/queue", Imports: []string{"engang/shared/dynamo", awsSDK + "/service/sqs/types", awsSDK + "/service/ssm"}},
		{ImportPath: "engang/shared/model", Imports: []string{openai, openai + "/responses"}},
		{ImportPath: "engang/shared/intake", Imports: []string{"engang/infra/local", "engang/shared/dynamo/dynamotest"}},
		{ImportPath: "engang/shared/dynamo/dynamotest", Imports: []string{"testing", "github.com/sivchari/kumo"}},
		{ImportPath: "engang/shared/helpers", Imports: nil},
		{ImportPath: "engang/functions/receiver", Imports: []string{"engang/functions/receiver/handler", awsSDK + "/aws", awsSDK + "/config"}},
		{ImportPath: "engang/functions/receiver/handler", Imports: []string{"engang/functions/console/handler", awsSDK + "/config", awsSDK + "/aws", "engang/infra"}},
		{ImportPath: "engang/infra/local", Imports: []string{"engang/functions/receiver/handler", "engang/tests/internal/x", "github.com/spf13/cobra"}},
		{ImportPath: "engang/infra/local", Imports: []string{"engang/shared/dynamo/dynamotest/invariants"}},
		{ImportPath: "engang/infra/simulation", Imports: []string{"engang/shared/dynamo/dynamotest/invariants", "engang/shared/dynamo/dynamotest"}},
		{ImportPath: "engang/tests/integration", Imports: []string{"engang/infra/local", "engang/tests/internal/x"}},
	}
	found(t, arrows(packs, places, libraries),
		"shared/inbox imports shared/dynamo: domain to adapter",
		"shared/inbox imports github.com/x/y: not among its libraries",
		"shared/enrich imports shared/queue: usecase to adapter",
		"shared/queue imports shared/dynamo: adapter to adapter",
		"shared/queue imports "+awsSDK+"/service/ssm: not among its libraries",
		"shared/model imports "+openai+": not among its libraries",
		"shared/intake imports infra/local: shared/ imports nothing above it",
		"shared/intake imports shared/dynamo/dynamotest: test help is for tests",
		"shared/helpers is in no layer: say which in places",
		"functions/receiver imports "+awsSDK+"/config: a function has no library of its own",
		"functions/receiver/handler imports functions/console/handler: only a function's own main imports a handler",
		"functions/receiver/handler imports "+awsSDK+"/config: a function has no library of its own",
		"functions/receiver/handler imports infra: a function imports shared/ only",
		"infra/local imports tests/internal/x: tests/ is for tests",
		"infra/local imports shared/dynamo/dynamotest/invariants: test help is for tests",
		"infra/simulation imports shared/dynamo/dynamotest: test help is for tests",
	)
}

// unwanted says what must not be in a function's binary, by prefix of the import path.
var unwanted = []string{
	"testing", "engang/infra", "engang/tests", "github.com/sivchari/kumo", "github.com/spf13/cobra", "github.com/spf13/pflag",
	"github.com/goccy/go-yaml", "github.com/google/go-cmp", "github.com/standard-webhooks",
}

func TestBinariesHoldNothingThatTheyDoNotNeed(t *testing.T) {
	for _, function := range functions(kept(t)) {
		t.Run(function, func(t *testing.T) {
			packs := list(t, "-deps", "./functions/"+function)
			if len(packs) < 50 {
				t.Fatalf("only %d packages listed: the rule would see nothing", len(packs))
			}
			none(t, surplus(function, packs))
		})
	}
}

// costly says which functions need what the others pay for at each cold start without using it.
var costly = map[string][]string{
	"github.com/openai/openai-go":           {"enrichment"},
	"github.com/santhosh-tekuri/jsonschema": {"enrichment", "console"}, // 5 ms of a start, for its table of formats and schemas
	"golang.org/x/text":                     {"enrichment", "console"},
	"golang.org/x/net/html":                 {"enrichment", "console"},
	"engang/shared/recipe/compiled":         {"enrichment", "console"},
	"engang/shared/mask":                    {"enrichment", "console"},
	"engang/shared/config/apply":            {"console"},
	awsSDK + "/config":                      {}, // profiles, files, metadata, and the clients of all that sells credentials: shared/settings reads what Lambda sets
	awsSDK + "/credentials":                 {},
	awsSDK + "/service/ssm/schemas":         {}, // from v1.80.0 on: 1 MB and 3 ms for operations that nobody calls, see infra/adr/0010
}

// surplus finds what a function's binary must not hold.
func surplus(function string, packs []pack) []string {
	refuse := slices.Clone(unwanted)
	for prefix, users := range costly {
		if !slices.Contains(users, function) {
			refuse = append(refuse, prefix)
		}
	}
	var faults []string
	for _, p := range packs {
		for _, prefix := range refuse {
			if p.ImportPath == prefix || strings.HasPrefix(p.ImportPath, prefix+"/") {
				faults = append(faults, function+" holds "+p.ImportPath)
			}
		}
	}
	return faults
}

func TestBinaryRuleFindsSurplus(t *testing.T) {
	packs := []pack{{ImportPath: "testing"}, {ImportPath: "testing/fstest"}, {ImportPath: "testingx"}, {ImportPath: openai + "/responses"}, {ImportPath: "github.com/sivchari/kumo/internal"}}
	found(t, surplus("receiver", packs), "receiver holds testing", "receiver holds testing/fstest",
		"receiver holds "+openai+"/responses", "receiver holds github.com/sivchari/kumo/internal")
	found(t, surplus("enrichment", packs[3:4]))
	found(t, surplus("receiver", []pack{{ImportPath: "github.com/santhosh-tekuri/jsonschema/v6/kind"}, {ImportPath: "engang/shared/recipe/compiled"}, {ImportPath: "engang/shared/recipe"}}),
		"receiver holds github.com/santhosh-tekuri/jsonschema/v6/kind", "receiver holds engang/shared/recipe/compiled")
	found(t, surplus("console", []pack{{ImportPath: "engang/shared/recipe/compiled"}, {ImportPath: openai}}), "console holds "+openai)
}
