package architecture_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostCommands lead from an account to the first webhook.
const mostCommands = 8

// A command is a line of the README's deploy section.
type command struct {
	line     string
	settings map[string]string // before the program's name
	words    []string          // of the program's own arguments
	sam      bool              // SAM's, in place of engang's
}

var (
	deploySection = regexp.MustCompile(`(?s)\n## Deploy\n(.*?)\n## `)
	shellBlock    = regexp.MustCompile("(?s)```sh\n(.*?)```")
	shellWord     = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
	setting       = regexp.MustCompile(`^([A-Z_]+)=(.*)$`)
)

// deploying reads the commands of the README's deploy section.
func deploying(readme string) (all []command, section string, err error) {
	m := deploySection.FindStringSubmatch(readme)
	if m == nil {
		return nil, "", fmt.Errorf("the README has no deploy section")
	}
	block := shellBlock.FindStringSubmatch(m[1])
	if block == nil {
		return nil, m[1], fmt.Errorf("the deploy section has no commands")
	}
	for line := range strings.Lines(block[1]) {
		line, _, _ = strings.Cut(" "+strings.TrimSpace(line), " #")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		c := command{line: line, settings: map[string]string{}, words: shellWord.FindAllString(line, -1)}
		for ; len(c.words) > 0 && setting.MatchString(c.words[0]); c.words = c.words[1:] {
			s := setting.FindStringSubmatch(c.words[0])
			c.settings[s[1]] = strings.Trim(s[2], "'")
		}
		text := strings.Join(c.words, " ")
		ours, isOurs := strings.CutPrefix(text, "go run ./infra/engang ")
		theirs, isTheirs := strings.CutPrefix(text, "sam ")
		if c.words, c.sam = strings.Fields(ours), isTheirs; isTheirs {
			c.words = strings.Fields(theirs)
		}
		if !isOurs && !isTheirs {
			return nil, m[1], fmt.Errorf("%s is neither of SAM nor of engang", c.line)
		}
		all = append(all, c)
	}
	return all, m[1], nil
}

// A ground is what the commands stand on.
type ground struct {
	help                func([]string) string
	parameters, outputs map[string]bool
	settings            map[string]string // of samconfig.toml
	ci                  string
}

func stand(t *testing.T) ground {
	t.Helper()
	g := ground{help: help(t), settings: samSettings(read(t, "samconfig.toml")), ci: read(t, ".ci/run")}
	g.parameters, g.outputs = named(t, read(t, "template.yaml"))
	return g
}

func TestEightCommandsLeadToTheFirstWebhook(t *testing.T) {
	none(t, undeployable(read(t, "README.md"), stand(t)))
}

// undeployable finds what would stop a reader of the README on the way to the first webhook, as far as it can be seen
// without an account.
func undeployable(readme string, g ground) (faults []string) {
	all, section, err := deploying(readme)
	if err != nil {
		return []string{err.Error()}
	}
	if len(all) > mostCommands {
		faults = append(faults, fmt.Sprintf("%d commands, more than %d", len(all), mostCommands))
	}
	var way []string // what each command is for
	for _, c := range all {
		way = append(way, c.words[0])
		if c.sam {
			faults = append(faults, g.samFaults(c)...)
		} else {
			faults = append(faults, g.ourFaults(c)...)
		}
	}
	if want := []string{"build", "deploy", "init", "secret", "secret", "apply", "doctor", "send"}; !slices.Equal(way, want) {
		faults = append(faults, fmt.Sprintf("the way is %v, not %v", way, want))
	}
	for _, m := range regexp.MustCompile("output `([A-Za-z]+)`").FindAllStringSubmatch(section, -1) {
		if !g.outputs[m[1]] {
			faults = append(faults, "no output "+m[1])
		}
	}
	if !strings.Contains(section, "output `HooksUrl`") {
		faults = append(faults, "the webhook's address is not told: it is behind the output HooksUrl")
	}
	return faults
}

// samFaults: what is built is what .ci/run builds and measures, and settings are those of the template.
func (g ground) samFaults(c command) (faults []string) {
	for _, w := range c.words[1:] {
		if name, value, ok := strings.Cut(w, "="); ok && !g.parameters[name] {
			faults = append(faults, fmt.Sprintf("no parameter %s, set to %s", name, value))
		}
	}
	if c.words[0] != "build" {
		return faults
	}
	for _, line := range []string{"size_flags='" + c.settings["GOFLAGS"] + "'", "GOFLAGS=$size_flags CGO_ENABLED=" + c.settings["CGO_ENABLED"] + " sam build "} {
		if !strings.Contains(g.ci, "\n"+line) {
			faults = append(faults, ".ci/run does not build so: "+line)
		}
	}
	return faults
}

var reference = regexp.MustCompile(`^(hooks/[a-z0-9-]+/[0-9]+|models/[a-z0-9-]+)$`)

// ourFaults: the program knows command and flags, it speaks to the stack that SAM makes, and a secret is named and not told.
func (g ground) ourFaults(c command) (faults []string) {
	faults = unspeakable("README.md", strings.Join(c.words, " "), g.help)
	at := slices.Index(c.words, "--target")
	switch {
	case c.words[0] == "init": // of files here
	case at < 0 || at+1 == len(c.words):
		faults = append(faults, c.line+": on no target")
	case c.words[at+1] != g.settings["default.global.stack_name"]:
		faults = append(faults, c.line+": the stack is called "+g.settings["default.global.stack_name"])
	}
	if c.words[0] != "secret" {
		return faults
	}
	flagged := false
	for i, w := range c.words[2:] { // behind "secret set"
		if isFlag := strings.HasPrefix(w, "--"); !isFlag && !flagged && (i > 0 || !reference.MatchString(w)) {
			faults = append(faults, c.line+": "+w+" is no reference of a secret")
		}
		flagged = strings.HasPrefix(w, "--")
	}
	return faults
}

func TestDeployRuleFindsWhatStopsAReader(t *testing.T) {
	good, g := read(t, "README.md"), stand(t)
	for _, c := range []struct{ name, old, new, says string }{
		{"a ninth command", "sam deploy --guided ", "sam validate\nsam deploy --guided ", "9 commands, more than 8"},
		{"a command of somebody else", "sam deploy --guided ", "aws configure\nsam deploy --guided ", "aws configure is neither of SAM nor of engang"},
		{"a command that is not there", "engang apply config", "engang aply config", "README.md: no command engang aply config --target engang"},
		{"an act that is not there", "secret set models", "secret sett models", "README.md: no command engang secret sett models/openai --target engang"},
		{"a flag that is not there", "--wait --target engang", "--await --target engang", "README.md: engang send has no --await"},
		{"another stack", "apply config --target engang", "apply config --target shop", "go run ./infra/engang apply config --target shop: the stack is called engang"},
		{"no stack", "apply config --target engang", "apply config", "go run ./infra/engang apply config: on no target"},
		{"a secret that is told", "set models/openai --target", "set models/openai sk-1 --target", "go run ./infra/engang secret set models/openai sk-1 --target engang: sk-1 is no reference of a secret"},
		{"a parameter that is not there", "sam deploy --guided ", "sam deploy --guided --parameter-overrides Mail=me ", "no parameter Mail, set to me"},
		{"other flags than are measured", `"-ldflags=-s -w"' CGO`, `"-ldflags=-s"' CGO`, `.ci/run does not build so: size_flags='-tags=lambda.norpc "-ldflags=-s"'`},
		{"with C", "CGO_ENABLED=0 sam", "CGO_ENABLED=1 sam", ".ci/run does not build so: GOFLAGS=$size_flags CGO_ENABLED=1 sam build "},
		{"an output that is not there", "output `SecretPath`", "output `SecretsPath`", "no output SecretsPath"},
		{"an address that is not told", "output `HooksUrl`", "output `ApiUrl`", "the webhook's address is not told: it is behind the output HooksUrl"},
		{"no webhook", "go run ./infra/engang send woocommerce/product.updated --endpoint", "# send", "the way is [build deploy init secret secret apply doctor], not [build deploy init secret secret apply doctor send]"},
		{"no section", "\n## Deploy\n", "\n## Deployed\n", "the README has no deploy section"},
		{"no commands", "```sh\nGOFLAGS", "```\nGOFLAGS", "the deploy section has no commands"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(good, c.old) == 0 {
				t.Fatalf("the README has no %q", c.old)
			}
			if got := undeployable(strings.Replace(good, c.old, c.new, 1), g); !slices.Contains(got, c.says) {
				t.Errorf("found %q, want %q", got, c.says)
			}
		})
	}
}

// whatSAMSays prints the options that its commands lack, and questions of a guided deploy whose usual answer is no, which
// ends it: whether a function may be reached by everybody, and the last one, of which the README tells.
const whatSAMSays = `
import importlib, sys
from samcli.commands.deploy.auth_utils import auth_per_resource
from samcli.commands.deploy.deploy_context import DeployContext
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
for line in sys.argv[1:]:
    name, *words = line.split()
    options = [o for p in importlib.import_module("samcli.commands." + name).cli.params for o in p.opts]
    print(*["sam " + name + " has no " + w + "\n" for w in words if w.startswith("--") and w not in options], sep="", end="")
stacks, _ = SamLocalStackProvider.get_stacks("template.yaml")
if "deploy this changeset" not in open("README.md").read() or DeployContext.MSG_CONFIRM_CHANGESET != "Deploy this changeset?":
    print("sam deploy asks", DeployContext.MSG_CONFIRM_CHANGESET)
print(*["sam deploy asks about " + name + "\n" for name, has in auth_per_resource(stacks) if not has], sep="", end="")
`

func TestSAMKnowsTheCommandsAndAsksNothingThatEndsADeploy(t *testing.T) {
	all, _, err := deploying(read(t, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{whatSAMSays}
	for _, c := range all {
		if c.sam {
			args = append(args, strings.Join(c.words, " "))
		}
	}
	for _, c := range []struct {
		name, says string
		more       []string
	}{
		{"the README's", "", nil},
		{"one with an option that SAM lacks", "sam deploy has no --guide\n", []string{"deploy --guide"}},
	} {
		if out, said, err := tool(t, `python3 -c "$@"`, append(args, c.more...)...); err != nil || out != c.says {
			t.Errorf("%s: %v, want %q in\n%s", c.name, err, c.says, said)
		}
	}
}
