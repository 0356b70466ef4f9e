package cloudformation_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engang/infra/local/cloudformation"

	"github.com/google/go-cmp/cmp"
)

type world struct{}

func (world) Ref(id string) (string, error) {
	if id == "AWS::StackName" {
		return "stack", nil
	}
	if id == "Table" {
		return "stack-Table", nil
	}
	return "", errors.New("nothing called " + id)
}

func (world) Attribute(id, name string) (string, error) { return "arn:" + id + ":" + name, nil }

const sample = `
Parameters:
  Limit: {Type: Number, Default: 7}
  Reserved: {Type: Number, Default: 0}
  Needed: {Type: String}
Conditions:
  Reserve: !Not [!Equals [!Ref Reserved, 0]]
  Both: !And [!Condition Reserve, !Equals [a, a]]
  Either: !Or [!Condition Reserve, !Equals [a, a]]
Globals:
  Function: {Timeout: 3}
Resources:
  Table: {Type: AWS::DynamoDB::Table}
  F:
    Type: AWS::Serverless::Function
    Properties:
      A: !Ref Table
      B: !Sub "/${AWS::StackName}/${Table.Arn}/${Limit}/${!kept}"
      C: !GetAtt Table.Arn
      D: {"Fn::GetAtt": [Table, Arn]}
      E: !If [Reserve, !Ref Reserved, !Ref "AWS::NoValue"]
      F: {"Fn::Sub": ["${x}-y", {x: !Ref Limit}]}
      G: !Join ["-", [a, !Ref Limit]]
      H: {inner: !If [Either, yes, no], gone: !Ref "AWS::NoValue"}
      I: !If [Both, yes, no]
      J: [1, !Ref "AWS::NoValue", 2]
      K: >-
        folded
        text
      Bad: !ImportValue other
      Unknown: !Ref Nowhere
      Wanting: !Ref Needed
`

func TestPropertyEvaluatesWhatATemplateSays(t *testing.T) {
	tpl, err := cloudformation.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"A": "stack-Table",
		"B": "/stack/arn:Table:Arn/7/${kept}",
		"C": "arn:Table:Arn", "D": "arn:Table:Arn", "F": "7-y", "G": "a-7",
		"H": map[string]any{"inner": "yes"}, "I": "no", "J": []any{int64(1), int64(2)},
		"K": "folded text", "Timeout": int64(3), // from Globals
	} {
		got, err := tpl.Property(world{}, "F", name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestPropertySaysWhatIsWrongAndWhere(t *testing.T) {
	tpl, err := cloudformation.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ property, says string }{
		{"Bad", "F.Bad: !ImportValue is not understood"},
		{"Unknown", "nothing called Nowhere"},
		{"Wanting", "nothing called Needed"}, // a parameter without a default
		{"E", "F.E: not in the template"},    // AWS::NoValue
		{"Nothing", "F.Nothing: not in the template"},
	} {
		_, err := tpl.Property(world{}, "F", c.property)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want it to say %q", c.property, err, c.says)
		}
	}
	if _, err := tpl.Number(world{}, "F", "G"); err == nil || !strings.Contains(err.Error(), "not a whole number") {
		t.Errorf("Number of a text: %v", err)
	}
}

func TestWithGivesAParameterAnotherValue(t *testing.T) {
	tpl, err := cloudformation.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	changed := tpl.With(map[string]string{"Reserved": "4", "Needed": "here"})
	for property, want := range map[string]string{"E": "4", "Wanting": "here", "I": "yes"} {
		if got, err := changed.Text(world{}, "F", property); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", property, got, err, want)
		}
	}
	if _, err := tpl.Property(world{}, "F", "E"); !errors.Is(err, cloudformation.ErrMissing) {
		t.Errorf("the first template changed too: %v", err)
	}
}

func TestParseRefusesWhatItWouldMisread(t *testing.T) {
	for name, text := range map[string]string{
		"a key that stands twice": "Resources:\n  A: {Type: X}\n  A: {Type: Y}\n",
		"an alias":                "Resources:\n  A: &a {Type: X}\n  B: *a\n",
		"no resources":            "Parameters: {}\n",
		"a list":                  "- a\n",
		"broken YAML":             "Resources: [\n",
	} {
		if _, err := cloudformation.Parse([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestFindLooksInTheFoldersAbove(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := cloudformation.Find(deep); !errors.Is(err, cloudformation.ErrNoTemplate) {
		t.Errorf("without a template: %v", err)
	}
	want := filepath.Join(root, "template.yaml")
	if err := os.WriteFile(want, []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := cloudformation.Find(deep)
	if err != nil || got != want {
		t.Errorf("found %q, %v", got, err)
	}
	tpl, err := cloudformation.Read(got)
	if err != nil || tpl.Path() != want || !cmp.Equal(tpl.OfType("AWS::Serverless::Function"), []string{"F"}) || tpl.Type("Table") != "AWS::DynamoDB::Table" {
		t.Errorf("read %v, %v", tpl, err)
	}
}

// The template of this repository is the one that matters: every value that the local system reads from it.
func TestTheRepositorysTemplateEvaluates(t *testing.T) {
	path, err := cloudformation.Find(".")
	if err != nil {
		t.Fatal(err)
	}
	tpl, err := cloudformation.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range tpl.OfType("AWS::Serverless::Function") {
		if n, err := tpl.Number(world{}, id, "Timeout"); err != nil || n <= 0 {
			t.Errorf("%s: timeout %d, %v", id, n, err)
		}
	}
}

func TestWhatIsWrittenPrintsAsItIsWritten(t *testing.T) {
	tpl, err := cloudformation.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	properties := tpl.Written()["Resources"].(map[string]any)["F"].(map[string]any)["Properties"].(map[string]any)
	for name, want := range map[string]string{"A": "!Ref Table", "D": "!GetAtt [Table Arn]", "E": "!If [Reserve !Ref Reserved !Ref AWS::NoValue]", "J": "[1 !Ref AWS::NoValue 2]"} {
		if got := fmt.Sprint(properties[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
