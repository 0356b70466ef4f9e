package architecture_test

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"engang/infra/engang/program"
	"engang/infra/local/cloudformation"
)

func TestRunbooksSayWhatToDo(t *testing.T) {
	tpl := repositoryTemplate(t)
	parameters, outputs := named(t, read(t, "template.yaml"))
	known := place{tpl, parameters, outputs, help(t), literal(t)}
	for _, f := range kept(t) {
		if path.Dir(f) == "infra/runbooks" {
			none(t, unhelpful(f, read(t, f), known))
		}
	}
}

// A place is what a runbook can speak of.
type place struct {
	template            *cloudformation.Template
	parameters, outputs map[string]bool
	help                func(command []string) string // what --help says of a command of engang; empty: there is none
	said                func(text string) bool        // whether such a text stands in the code of functions
}

var (
	ours       = regexp.MustCompile("(?m)(?:^|`|\\$\\()engang ([a-z][^`\n]*)")
	word       = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flag       = regexp.MustCompile(`--[a-z][a-z-]*`)
	logGroup   = regexp.MustCompile(`/engang/\$STACK/([a-z]+)`)
	logicalID  = regexp.MustCompile(`--logical-resource-id ([A-Za-z]+)`)
	outputKey  = regexp.MustCompile(`OutputKey=='([A-Za-z]+)'`)
	metricName = regexp.MustCompile(`--metric-name ([A-Za-z]+)`)
	message    = regexp.MustCompile(`\$\.msg = "([^"]+)"`)
	overrides  = regexp.MustCompile(`(?:--parameter-overrides|[Ss]et ` + "`" + `|set --) ?([^` + "`" + `\n#)]*)`)
	deploys    = regexp.MustCompile("sam deploy[^`\n]*")
	parameter  = regexp.MustCompile(`\b([A-Z][A-Za-z]+)=`)
)

// unhelpful finds what a runbook lacks: its four parts, and commands and names that exist.
func unhelpful(file, text string, known place) []string {
	name := strings.TrimSuffix(path.Base(file), ".md")
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, name+": "+fmt.Sprintf(format, args...)) }
	if !strings.HasPrefix(text, "# "+name+"\n") {
		add("is headed otherwise")
	}
	at := 0
	for _, part := range []string{"Meaning", "Look", "Do", "Undo"} {
		i := strings.Index(text[at:], "\n## "+part+"\n\n")
		if i < 0 {
			add("has no part %s", part)
			continue
		}
		at += i
	}
	if !slices.Contains(guides, name) && !strings.Contains(text, "`$STACK-"+name+"`") {
		add("does not name its alarm")
	}
	for _, m := range ours.FindAllStringSubmatch(text, -1) {
		faults = append(faults, unspeakable(name, m[1], known.help)...)
	}
	r := reader{known.template}
	for _, m := range logGroup.FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(known.template.OfType(logsType), func(id string) bool { return r.text(id, "LogGroupName") == "/engang/<AWS::StackName>/"+m[1] }) {
			add("no log group /engang/$STACK/%s", m[1])
		}
	}
	for _, m := range logicalID.FindAllStringSubmatch(text, -1) {
		if !declares(known.template, m[1]) {
			add("no resource %s", m[1])
		}
	}
	for _, m := range outputKey.FindAllStringSubmatch(text, -1) {
		if !known.outputs[m[1]] {
			add("no output %s", m[1])
		}
	}
	for _, m := range metricName.FindAllStringSubmatch(text, -1) {
		if !known.said(m[1]) && !slices.ContainsFunc(known.template.OfType(alarmType), func(id string) bool {
			return slices.ContainsFunc(alarmNumbers(r, id), func(n number) bool { return n.name == m[1] })
		}) && m[1] != "ConcurrentExecutions" {
			add("no metric %s", m[1])
		}
	}
	for _, m := range message.FindAllStringSubmatch(text, -1) {
		if !known.said(m[1]) {
			add("no line %q", m[1])
		}
	}
	for _, m := range overrides.FindAllStringSubmatch(text, -1) {
		for _, p := range parameter.FindAllStringSubmatch(m[1], -1) {
			if !known.parameters[p[1]] {
				add("no parameter %s", p[1])
			}
		}
	}
	for _, command := range deploys.FindAllString(text, -1) {
		aimed := strings.Contains(command, " --config-env ") || strings.Contains(command, " --stack-name ")
		if command != "sam deploy" && (!aimed || !strings.Contains(text, "sam build")) {
			add("deploys what lies there, or to wherever: %s", command)
		}
	}
	return faults
}

// declares tells whether there is a resource, or the one that SAM makes of a function's event.
func declares(tpl *cloudformation.Template, id string) bool {
	return tpl.Type(id) != "" || slices.ContainsFunc(tpl.OfType(functionType), func(f string) bool {
		all, _ := reader{tpl}.any(f, "Events").(map[string]any)
		_, ok := all[strings.TrimPrefix(id, f)]
		return ok && strings.HasPrefix(id, f)
	})
}

// unspeakable finds commands and flags that the program does not have.
func unspeakable(name, line string, help func([]string) string) []string {
	line, _, _ = strings.Cut(line, "#")
	var words []string
	for w := range strings.FieldsSeq(line) {
		if !word.MatchString(w) {
			break
		}
		words = append(words, w)
	}
	command, text := words, ""
	for ; len(command) > 0; command = command[:len(command)-1] { // the last words may be arguments
		if text = help(command); text != "" {
			break
		}
	}
	said := "engang " + strings.Join(command, " ")
	if text == "" || len(command) < len(words) && strings.Contains(text, "  "+said+" [command]") {
		return []string{name + ": no command engang " + strings.TrimSpace(line)}
	}
	var faults []string
	for _, f := range flag.FindAllString(line, -1) {
		if !strings.Contains(text, f+" ") {
			faults = append(faults, fmt.Sprintf("%s: %s has no %s", name, said, f))
		}
	}
	return faults
}

// named lists the parameters and outputs of a template.
func named(t *testing.T, template string) (parameters, outputs map[string]bool) {
	t.Helper()
	type entry struct {
		Description string `yaml:"Description"`
	}
	var doc struct {
		Parameters map[string]entry `yaml:"Parameters"`
		Outputs    map[string]entry `yaml:"Outputs"`
	}
	if err := yaml.Unmarshal([]byte(template), &doc); err != nil {
		t.Fatal(err)
	}
	parameters, outputs = map[string]bool{}, map[string]bool{}
	for p := range doc.Parameters {
		parameters[p] = true
	}
	for o := range doc.Outputs {
		outputs[o] = true
	}
	return parameters, outputs
}

// help asks the program itself, once for each command.
func help(t *testing.T) func([]string) string {
	known := map[string]string{}
	return func(command []string) string {
		said := strings.Join(command, " ")
		if text, ok := known[said]; ok {
			return text
		}
		var out strings.Builder
		program.Run(t.Context(), program.Env{Args: append(slices.Clone(command), "--help"), Stdin: strings.NewReader(""), Stdout: &out, Stderr: io.Discard,
			Getenv: func(string) string { return "" }, Now: time.Now, Command: "engang"})
		if text := out.String(); strings.Contains(text, "\n  engang "+said+" ") { // its own usage, and not that of a command above it
			known[said] = text
		}
		return known[said]
	}
}

// literal tells whether a text stands in the code of what functions are made of.
func literal(t *testing.T) func(string) bool {
	files, all, folders := sources(t), map[string]bool{}, map[string]bool{}
	for _, s := range files {
		if top, _, _ := strings.Cut(s.name, "/"); top == "shared" || top == "functions" {
			folders[path.Dir(s.name)] = true
		}
	}
	for dir := range folders {
		for _, text := range literals(files, dir) {
			all[text] = true
		}
	}
	return func(text string) bool {
		begin, open := strings.CutSuffix(text, "*")
		if !open {
			return all[text]
		}
		for known := range all {
			if strings.HasPrefix(known, begin) {
				return true
			}
		}
		return false
	}
}

const helpful = `# good

Alarm ` + "`$STACK-good`" + `.

## Meaning

x

## Look

engang dlq tidy --reason WHY # engang nothing
aws logs tail /engang/$STACK/a --filter-pattern '{ $.msg = "swept" }'

## Do

` + "`engang pause endpoint NAME`, set `Size=1` (`infra/runbooks/parameters.md`), `sam build && sam deploy --config-env test`" + `

## Undo

x
`

func TestRunbookRuleFindsWhatDoesNotHelp(t *testing.T) {
	known := place{
		template:   parse(t, `Resources: {A: {Type: AWS::Logs::LogGroup, Properties: {LogGroupName: !Sub "/engang/${AWS::StackName}/a"}}, AFunction: {Type: AWS::Serverless::Function, Properties: {Events: {Minute: {Type: X}}}}}`),
		parameters: map[string]bool{"Size": true}, outputs: map[string]bool{"TableName": true}, help: help(t), said: func(text string) bool { return text == "swept" },
	}
	none(t, unhelpful("infra/runbooks/good.md", helpful, known))
	none(t, unhelpful("infra/runbooks/good.md", strings.Replace(helpful, "engang dlq", "aws x --logical-resource-id AFunctionMinute --query \"OutputKey=='TableName'\"\nengang dlq", 1), known))
	for _, tc := range []struct{ name, old, new, says string }{
		{"another alarm's", "$STACK-good", "$STACK-other", "good: does not name its alarm"},
		{"another heading", "# good\n", "# Good\n", "good: is headed otherwise"},
		{"no undo", "## Undo", "## Later", "good: has no part Undo"},
		{"a command that is not there", "engang dlq tidy", "engang dlq clear", "good: no command engang dlq clear --reason WHY"},
		{"no command at all", "engang dlq tidy", "engang letters", "good: no command engang letters --reason WHY"},
		{"a flag that is not there", "--reason WHY #", "--because WHY #", "good: engang dlq tidy has no --because"},
		{"a log group that is not there", "$STACK/a", "$STACK/b", "good: no log group /engang/$STACK/b"},
		{"a line that nobody writes", `"swept"`, `"sweeped"`, `good: no line "sweeped"`},
		{"a parameter that is not there", "Size=1", "Sise=1", "good: no parameter Sise"},
		{"a deploy to wherever", "deploy --config-env test", "deploy --parameter-overrides Size=1", "good: deploys what lies there, or to wherever: sam deploy --parameter-overrides Size=1"},
		{"a deploy of what lies there", "sam build && ", "", "good: deploys what lies there, or to wherever: sam deploy --config-env test"},
		{"a resource that is not there", "aws logs", "aws x --logical-resource-id AFunctionHour; aws logs", "good: no resource AFunctionHour"},
		{"an output that is not there", "aws logs", "aws x --query \"OutputKey=='Table'\"; aws logs", "good: no output Table"},
		{"a metric that is not there", "aws logs", "aws x --metric-name Beat; aws logs", "good: no metric Beat"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found(t, unhelpful("infra/runbooks/good.md", strings.Replace(helpful, tc.old, tc.new, 1), known), tc.says)
		})
	}
}

func TestReadmeNamesEveryRunbook(t *testing.T) { none(t, unmentioned(read(t, "README.md"), kept(t))) }

// unmentioned finds runbooks that the text does not lead to.
func unmentioned(text string, files []string) []string {
	var faults []string
	for _, f := range files {
		if path.Dir(f) == "infra/runbooks" && !strings.Contains(text, "`"+f+"`") && !strings.Contains(text, "]("+f+")") {
			faults = append(faults, "README.md does not name "+f)
		}
	}
	return faults
}

func TestMentionRuleFindsOneThatIsLeftOut(t *testing.T) {
	found(t, unmentioned("`infra/runbooks/a.md` [b](infra/runbooks/b.md)", []string{"infra/runbooks/a.md", "infra/runbooks/b.md", "infra/runbooks/c.md", "infra/adr/d.md"}),
		"README.md does not name infra/runbooks/c.md")
}
