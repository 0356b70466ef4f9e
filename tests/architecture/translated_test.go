package architecture_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra/local/cloudformation"
)

// tools is the folder of SAM's programs and of its translator, as .ci/run installs and names it. Without it these
// tests have nothing to run: where a machine checks, that fails them.
func tools(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("ENGANG_SAM")
	switch {
	case bin == "" && os.Getenv("CI") != "":
		t.Fatal("ENGANG_SAM names no folder with sam, cfn-lint and python3")
	case bin == "":
		t.Skip("ENGANG_SAM names no folder with sam, cfn-lint and python3: .ci/run runs this")
	}
	return bin
}

// tool runs one of SAM's programs, or a function of .ci/tools, and gives what it says.
func tool(t *testing.T, script string, args ...string) (stdout, said string, err error) {
	t.Helper()
	bin := tools(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", append([]string{"-c", `source .ci/tools; PATH=$ENGANG_SAM:$PATH; ` + script, "tool"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "ENGANG_SAM="+bin, "LC_ALL=C.UTF-8", "SAM_CLI_TELEMETRY=0", "AWS_DEFAULT_REGION=eu-north-1", "AWS_EC2_METADATA_DISABLED=true")
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &all
	err = cmd.Run()
	return out.String(), out.String() + all.String(), err
}

// saved puts a template into a file of its own.
func saved(t *testing.T, template, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// translated is what SAM makes of a template.
func translated(t *testing.T, template string) string {
	t.Helper()
	out, said, err := tool(t, `translate "$1"`, saved(t, template, "template.yaml"))
	if err != nil {
		t.Fatalf("translate: %v\n%s", err, said)
	}
	return out
}

// linted is what cfn-lint says of a template, and nothing where it finds nothing.
func linted(t *testing.T, template, name string) string {
	t.Helper()
	_, said, err := tool(t, `cfn-lint --regions eu-north-1 --template "$1"`, saved(t, template, name))
	if _, found := err.(*exec.ExitError); err != nil && !found {
		t.Fatalf("cfn-lint: %v\n%s", err, said)
	}
	return said
}

func TestRulesHoldForWhatSAMMakesOfTheTemplate(t *testing.T) {
	source := repositoryTemplate(t)
	made := translated(t, read(t, "template.yaml"))
	tpl := parse(t, made)
	none(t, allRules(t, made))
	none(t, added(source, tpl))
	none(t, silent(tpl, written(t)))
	none(t, strayAlarms(tpl, conditions(t, made), kept(t)))
	files := sources(t)
	for _, function := range functions(kept(t)) {
		set, _ := reader{tpl}.any(resource(function), "Environment", "Variables").(map[string]any)
		asked, faults := settingsRead(files, "functions/"+function)
		none(t, append(faults, unlikeSettings(asked, set)...))
	}
}

// allRules applies the rules that need nothing but a template, in either of its forms.
func allRules(t *testing.T, template string) []string {
	t.Helper()
	tpl := parse(t, template)
	const key = "arn:aws:kms:eu-north-1:000000000000:key/k"
	own := tpl.With(map[string]string{"KmsKeyArn": key})
	return slices.Concat(queueFaults(tpl), deadlineFaults(tpl), storeFaults(t, template), wideRoles(tpl), wideRoles(own), openLines(tpl),
		unencrypted(tpl, ""), unencrypted(own, key), keyless(own, key), unguarded(tpl), unwatched(tpl))
}

// added finds what SAM made beside the functions, routes and event sources that are declared: a role of its own
// would allow what no role here does.
func added(source, made *cloudformation.Template) []string {
	var faults []string
	for _, typ := range []string{roleType, "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", queueType, bucketType, tableType, logsType} {
		for _, id := range made.OfType(typ) {
			if !slices.Contains(source.OfType(typ), id) {
				faults = append(faults, "SAM adds "+typ+" "+id)
			}
		}
	}
	if a, b := len(feeds(source)), len(feeds(made)); a != b || a == 0 {
		faults = append(faults, "not each queue feeds its function")
	}
	a, b := routes(source), routes(made)
	for _, to := range a {
		if !slices.Contains(b, to) || to.iam != strings.HasPrefix(to.path, "/api/") {
			faults = append(faults, to.path+" is not the route that is declared")
		}
	}
	if len(a) != len(b) || len(a) == 0 {
		faults = append(faults, "not each path is declared")
	}
	if a, b := lambdas(source), lambdas(made); !slices.Equal(a, b) {
		faults = append(faults, "other functions than are declared")
	}
	return faults
}

func TestAdditionRuleFindsARoleOfSAMsOwn(t *testing.T) {
	source := `
Resources:
  AFunction:
    Type: AWS::Serverless::Function
    Properties:
      Role: !GetAtt ARole.Arn
      Events:
        Work: {Type: SQS, Properties: {Queue: !GetAtt Queue.Arn, BatchSize: 5}}
        Api: {Type: HttpApi, Properties: {Path: /api/x, TimeoutInMillis: 1000}}
  ARole: {Type: AWS::IAM::Role}
`
	made := `
Resources:
  AFunction: {Type: AWS::Lambda::Function, Properties: {Role: !GetAtt AFunctionRole.Arn}}
  AFunctionRole: {Type: AWS::IAM::Role}
  Api:
    Type: AWS::ApiGatewayV2::Api
    Properties:
      Body:
        paths:
          /api/x: {any: {x-amazon-apigateway-integration: {timeoutInMillis: 30000, uri: !Sub "arn:x/functions/${AFunction.Arn}/invocations"}}}
`
	found(t, added(parse(t, source), parse(t, made)),
		"SAM adds AWS::IAM::Role AFunctionRole", "not each queue feeds its function", "/api/x is not the route that is declared")
}
