package policies_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"engang/functions/console/handler"
	"engang/infra/policies"
)

type policy struct {
	Version   string
	Statement []struct {
		Sid, Effect      string
		Action, Resource []string
	}
}

func read(t *testing.T, raw []byte) (p policy) {
	t.Helper()
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// routes are the calls of the API that a policy allows: "GET events".
func (p policy) routes() (all []string) {
	for _, s := range p.Statement {
		for _, r := range s.Resource {
			if slices.Contains(s.Action, "execute-api:Invoke") {
				_, rest, _ := strings.Cut(r, "/$default/")
				method, path, _ := strings.Cut(rest, "/api/")
				all = append(all, method+" "+path)
			}
		}
	}
	slices.Sort(all)
	return all
}

func (p policy) actions() (all []string) {
	for _, s := range p.Statement {
		all = append(all, s.Action...)
	}
	return all
}

// allowed asks the API itself which methods an address has; none: there is no such address.
func allowed(t *testing.T, path string) []string {
	t.Helper()
	e := events.APIGatewayV2HTTPRequest{RawPath: "/api/" + path}
	e.RequestContext.HTTP.Method = http.MethodTrace
	e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:iam::123456789012:user/ann"}}
	out, err := handler.Over(nil, "test", slog.New(slog.NewTextHandler(io.Discard, nil))).Handle(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	if out.StatusCode != http.StatusMethodNotAllowed {
		return nil
	}
	return strings.Split(out.Headers["Allow"], ", ")
}

var documented = regexp.MustCompile(`(?m)^//\t(GET|POST|PUT|DELETE) +/api/(\S+)`)

// known are the calls that the API's own documentation lists.
func known(t *testing.T) (all []string) {
	t.Helper()
	source, err := os.ReadFile("../../functions/console/handler/handler.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range documented.FindAllStringSubmatch(string(source), -1) {
		all = append(all, m[1]+" "+m[2])
	}
	slices.Sort(all)
	return all
}

// What a policy allows is there, whoever acts may do all that there is, and whoever looks changes nothing.
func TestPoliciesNameTheRoutesThatThereAre(t *testing.T) {
	if allowed(t, "nowhere") != nil || len(known(t)) < 20 {
		t.Fatal("the rule would see nothing")
	}
	look, act := read(t, policies.Read), read(t, policies.Act)
	for _, route := range append(look.routes(), act.routes()...) {
		method, path, _ := strings.Cut(route, " ")
		if !slices.Contains(allowed(t, path), method) {
			t.Errorf("%s is no call of the API", route)
		}
	}
	if diff := cmp.Diff(known(t), act.routes()); diff != "" {
		t.Errorf("who acts (-calls there are +calls allowed):\n%s", diff)
	}
	changing := func(route string) bool { return !strings.HasPrefix(route, "GET ") && route != "POST plan" }
	if diff := cmp.Diff(slices.DeleteFunc(known(t), changing), look.routes()); diff != "" {
		t.Errorf("who looks (-calls that change nothing +calls allowed):\n%s", diff)
	}
}

var action = regexp.MustCompile(`\b(?:cloudformation|dynamodb|lambda|s3|sqs|ssm):[A-Z][A-Za-z]+`)

// What the operator program says that it needs is allowed: to look all that its doctor asks for but secrets, to act the rest.
func TestPoliciesAllowWhatTheProgramAsksFor(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../engang/doctor/*.go", "../engang/stack/*.go"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	asked := map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range action.FindAllString(string(raw), -1) {
			asked[a] = true
		}
	}
	if len(asked) < 8 {
		t.Fatalf("asked for %v: the rule would see nothing", asked)
	}
	look, act := read(t, policies.Read).actions(), read(t, policies.Act).actions()
	for a := range asked {
		if !slices.Contains(act, a) || a != "ssm:GetParameters" && !slices.Contains(look, a) {
			t.Errorf("%s is not allowed: look %v, act %v", a, look, act)
		}
	}
	for _, a := range look {
		if strings.Contains(a, "GetParameter") || regexp.MustCompile(`:(Put|Update|Delete|Send|Create)`).MatchString(a) {
			t.Errorf("who looks may %s", a)
		}
	}
}

var (
	placeholder = regexp.MustCompile(`\b[A-Z][A-Z_]{3,}\b`)
	explained   = regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|")
)

// What is to be replaced in a policy is explained beside it, and replaced by the command that stands there.
func TestWhatIsToBeReplacedIsExplained(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var words, rows []string
	for _, policy := range [][]byte{policies.Read, policies.Act} {
		for _, s := range read(t, policy).Statement {
			for _, r := range s.Resource {
				if _, route, ok := strings.Cut(r, "/$default/"); ok { // GET and POST are the calls' own
					r = strings.TrimSuffix(r, route)
				}
				words = append(words, placeholder.FindAllString(r, -1)...)
			}
		}
	}
	for _, m := range explained.FindAllStringSubmatch(string(raw), -1) {
		rows = append(rows, m[1])
		if !strings.Contains(string(raw), "s/"+m[1]+"/") {
			t.Errorf("%s is not replaced", m[1])
		}
	}
	slices.Sort(words)
	slices.Sort(rows)
	if diff := cmp.Diff(slices.Compact(words), rows); diff != "" {
		t.Errorf("(-to be replaced +explained):\n%s", diff)
	}
}

// No right is on everything that could be on something.
func TestPoliciesAreNarrow(t *testing.T) {
	without := []string{"lambda:GetAccountSettings", "ssm:DescribeParameters"} // AWS has no resource for these
	for name, raw := range map[string][]byte{"read": policies.Read, "act": policies.Act} {
		for _, s := range read(t, raw).Statement {
			for _, r := range s.Resource {
				free := !slices.ContainsFunc(s.Action, func(a string) bool { return !slices.Contains(without, a) })
				if (r == "*") != free || r != "*" && !strings.Contains(r, "ACCOUNT") && !strings.HasPrefix(r, "arn:aws:s3:::") {
					t.Errorf("%s, %s: %v on %s", name, s.Sid, s.Action, r)
				}
			}
			if slices.ContainsFunc(s.Action, func(a string) bool { return strings.Contains(a, "*") }) || s.Effect != "Allow" {
				t.Errorf("%s, %s: %s %v", name, s.Sid, s.Effect, s.Action)
			}
		}
	}
}
