// Package stack finds a deployed engang by the outputs of its CloudFormation stack, and signs calls of
// its API with the operator's own AWS identity.
package stack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// ErrNotFound says that there is no such stack in this account and region, or that it is not engang's.
var ErrNotFound = errors.New("no such stack")

// ErrOutput says that a stack lacks an output that every one of this version has.
var ErrOutput = errors.New("it has no output")

// DeployAnew is the remedy for what the template makes and is not there, or stands otherwise. How is written in one place.
const DeployAnew = "deploy it anew: infra/runbooks/upgrade.md"

// ErrNotAllowed says that there is no AWS identity, or one that may not look.
var ErrNotAllowed = errors.New("not allowed")

// ErrNoAnswer says that CloudFormation did not answer, or only that it cannot now.
var ErrNoAnswer = errors.New("no answer")

// A ClockError says that AWS refuses a signature for its time.
type ClockError struct {
	Ahead time.Duration // of this machine's clock; negative: behind
}

// Error says by how much the clock differs.
func (e *ClockError) Error() string {
	if e.Ahead < 0 {
		return fmt.Sprintf("the clock of this machine is %s behind that of AWS, which refuses its signatures: set it", -e.Ahead)
	}
	return fmt.Sprintf("the clock of this machine is %s ahead of that of AWS, which refuses its signatures: set it", e.Ahead)
}

// Unwrap is [ErrNotAllowed].
func (e *ClockError) Unwrap() error { return ErrNotAllowed }

// A Stack is a deployed engang.
type Stack struct {
	Name       string
	Account    string
	Region     string
	APIURL     string
	HooksURL   string
	SecretPath string
	Config     aws.Config // with the operator's identity

	Home       string            // the region that its own name says
	Status     string            // of CloudFormation: "CREATE_COMPLETE"
	Outputs    map[string]string // all of them
	Parameters map[string]string // that it was deployed with
	Ahead      time.Duration     // of this machine's clock before that of AWS, to the second

	now func() time.Time
}

// Find looks a stack up with the identity and region that the AWS command line would use. It returns an error that
// wraps [ErrNotFound], [ErrOutput], [ErrNotAllowed] or [ErrNoAnswer], or a [*ClockError].
func Find(ctx context.Context, client *http.Client, name string) (*Stack, error) {
	s, err := Describe(ctx, client, name, time.Now)
	switch {
	case err != nil:
	case s.APIURL == "" && s.HooksURL == "":
		err = fmt.Errorf("%w: %s in %s has neither of the outputs ApiUrl and HooksUrl: it is not engang's", ErrNotFound, s.Name, s.Region)
	case s.APIURL == "":
		err = s.Lacks("ApiUrl")
	case s.HooksURL == "":
		err = s.Lacks("HooksUrl")
	}
	return s, err
}

// Lacks is the error of a stack that has no such output, and wraps [ErrOutput].
func (s *Stack) Lacks(output string) error {
	return fmt.Errorf("stack %s in %s: %w %s: %s", s.Name, s.Region, ErrOutput, output, DeployAnew)
}

// Describe does the same for a stack that may lack outputs. Its clock is now's.
func Describe(ctx context.Context, client *http.Client, name string, now func() time.Time) (*Stack, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("stack %s: %w: no region is set; set AWS_REGION or a profile", name, ErrNotAllowed)
	}
	s := &Stack{Name: name, Region: cfg.Region, Config: cfg, now: now}
	return s, s.look(ctx, client, s.Endpoint("cloudformation"))
}

// Endpoint is where a service of the stack's region is spoken to.
func (s *Stack) Endpoint(service string) string {
	if s.Config.BaseEndpoint != nil {
		return strings.TrimSuffix(*s.Config.BaseEndpoint, "/") + "/"
	}
	return "https://" + service + "." + s.Region + "." + domain(s.Region) + "/"
}

// domain is that of the region's partition: China, the government's and the European ones have their own, of which a
// client of any regional service knows.
func domain(region string) string {
	at, err := ssm.NewDefaultEndpointResolverV2().ResolveEndpoint(context.Background(), ssm.EndpointParameters{Region: &region})
	if err == nil {
		if _, own, ok := strings.Cut(at.URI.Host, "."+region+"."); ok {
			return own
		}
	}
	return "amazonaws.com"
}

// described is the answer of DescribeStacks, as far as it is needed. The client of that service would
// be a dependency of its own for one call.
type described struct {
	ID      string `xml:"DescribeStacksResult>Stacks>member>StackId"`
	Status  string `xml:"DescribeStacksResult>Stacks>member>StackStatus"`
	Outputs []struct {
		Key   string `xml:"OutputKey"`
		Value string `xml:"OutputValue"`
	} `xml:"DescribeStacksResult>Stacks>member>Outputs>member"`
	Parameters []struct {
		Key   string `xml:"ParameterKey"`
		Value string `xml:"ParameterValue"`
	} `xml:"DescribeStacksResult>Stacks>member>Parameters>member"`
}

func (s *Stack) look(ctx context.Context, client *http.Client, address string) error {
	body := []byte(url.Values{"Action": {"DescribeStacks"}, "Version": {"2010-05-15"}, "StackName": {s.Name}}.Encode())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("look up stack %s: %w", s.Name, err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if err := s.sign(r, body, "cloudformation"); err != nil {
		return fmt.Errorf("look up stack %s: %w: no AWS identity: %w", s.Name, ErrNotAllowed, err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("look up stack %s: %w", s.Name, unanswered(err))
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("look up stack %s: %w", s.Name, unanswered(err))
	}
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		s.Ahead = s.now().Sub(at).Truncate(time.Second)
	}
	if err := s.refused(answer.StatusCode, string(raw)); err != nil {
		return err
	}
	var d described
	if err := xml.Unmarshal(raw, &d); err != nil || d.ID == "" { // a page of a network in between, which may well be XML
		return fmt.Errorf("look up stack %s: %w: what answers in place of CloudFormation describes no stack; is something between this machine and AWS?", s.Name, ErrNoAnswer)
	}
	s.read(d)
	return nil
}

// unanswered leaves out the address, which is long and says nothing more.
func unanswered(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w in time", ErrNoAnswer)
	}
	return fmt.Errorf("%w: %w", ErrNoAnswer, err)
}

func (s *Stack) refused(status int, text string) error {
	if status != http.StatusOK && refusesClock(text) {
		return fmt.Errorf("look up stack %s: %w", s.Name, &ClockError{s.Ahead})
	}
	switch {
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return fmt.Errorf("look up stack %s: %w: this identity may not describe it (cloudformation:DescribeStacks)", s.Name, ErrNotAllowed)
	case status == http.StatusBadRequest && strings.Contains(text, "does not exist"):
		return fmt.Errorf("%w: %s in %s; AWS_REGION or a profile says in which region it is looked for", ErrNotFound, s.Name, s.Region)
	case status >= http.StatusInternalServerError || status == http.StatusTooManyRequests:
		return fmt.Errorf("look up stack %s: %w: CloudFormation answers %d", s.Name, ErrNoAnswer, status)
	case status != http.StatusOK:
		return fmt.Errorf("look up stack %s: CloudFormation answers %d", s.Name, status)
	}
	return nil
}

func (s *Stack) read(d described) {
	s.Status, s.Outputs, s.Parameters = d.Status, map[string]string{}, map[string]string{}
	for _, o := range d.Outputs {
		s.Outputs[o.Key] = o.Value
	}
	for _, p := range d.Parameters {
		s.Parameters[p.Key] = p.Value
	}
	s.APIURL, s.HooksURL, s.SecretPath = s.Outputs["ApiUrl"], s.Outputs["HooksUrl"], s.Outputs["SecretPath"]
	if parts := strings.Split(d.ID, ":"); len(parts) > 4 {
		s.Home, s.Account = parts[3], parts[4]
	}
}

// Sign signs a call of the API.
func (s *Stack) Sign(r *http.Request, body []byte) error { return s.sign(r, body, "execute-api") }

// SignFor signs a call of another service.
func (s *Stack) SignFor(service string, r *http.Request, body []byte) error {
	return s.sign(r, body, service)
}

func (s *Stack) sign(r *http.Request, body []byte, service string) error {
	if s.Config.Credentials == nil {
		return errors.New("no credentials are configured")
	}
	identity, err := s.Config.Credentials.Retrieve(r.Context())
	if err != nil {
		return fmt.Errorf("read credentials: %w", err)
	}
	sum := sha256.Sum256(body)
	return v4.NewSigner().SignHTTP(r.Context(), identity, r, hex.EncodeToString(sum[:]), service, s.Region, s.now())
}
