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
)

// ErrNotFound says that there is no such stack in this account and region, or that it is not engang's.
var ErrNotFound = errors.New("no such stack")

// ErrNotAllowed says that there is no AWS identity, or one that may not look.
var ErrNotAllowed = errors.New("not allowed")

// A Stack is a deployed engang.
type Stack struct {
	Name       string
	Account    string
	Region     string
	APIURL     string
	HooksURL   string
	SecretPath string
	Config     aws.Config // with the operator's identity
}

// Find looks a stack up with the identity and region that the AWS command line would use.
func Find(ctx context.Context, client *http.Client, name string) (*Stack, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("stack %s: %w: no region is set; set AWS_REGION or a profile", name, ErrNotAllowed)
	}
	address := "https://cloudformation." + cfg.Region + ".amazonaws.com/"
	if cfg.BaseEndpoint != nil {
		address = *cfg.BaseEndpoint
	}
	s := &Stack{Name: name, Region: cfg.Region, Config: cfg}
	return s, s.look(ctx, client, address)
}

// described is the answer of DescribeStacks, as far as it is needed. The client of that service would
// be a dependency of its own for one call.
type described struct {
	ID      string `xml:"DescribeStacksResult>Stacks>member>StackId"`
	Outputs []struct {
		Key   string `xml:"OutputKey"`
		Value string `xml:"OutputValue"`
	} `xml:"DescribeStacksResult>Stacks>member>Outputs>member"`
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
		return fmt.Errorf("look up stack %s: %w", s.Name, err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("look up stack %s: %w", s.Name, err)
	}
	switch {
	case answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("look up stack %s: %w: this identity may not describe it", s.Name, ErrNotAllowed)
	case answer.StatusCode == http.StatusBadRequest && strings.Contains(string(raw), "does not exist"):
		return fmt.Errorf("%w: %s in %s", ErrNotFound, s.Name, s.Region)
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("look up stack %s: CloudFormation answers %d", s.Name, answer.StatusCode)
	}
	var d described
	if err := xml.Unmarshal(raw, &d); err != nil {
		return fmt.Errorf("look up stack %s: %w", s.Name, err)
	}
	for _, o := range d.Outputs {
		switch o.Key {
		case "ApiUrl":
			s.APIURL = o.Value
		case "HooksUrl":
			s.HooksURL = o.Value
		case "SecretPath":
			s.SecretPath = o.Value
		}
	}
	if s.APIURL == "" || s.HooksURL == "" {
		return fmt.Errorf("%w: %s in %s has no output ApiUrl: it is not engang's", ErrNotFound, s.Name, s.Region)
	}
	if parts := strings.Split(d.ID, ":"); len(parts) > 4 {
		s.Account = parts[4]
	}
	return nil
}

// Sign signs a call of the API.
func (s *Stack) Sign(r *http.Request, body []byte) error { return s.sign(r, body, "execute-api") }

func (s *Stack) sign(r *http.Request, body []byte, service string) error {
	if s.Config.Credentials == nil {
		return errors.New("no credentials are configured")
	}
	identity, err := s.Config.Credentials.Retrieve(r.Context())
	if err != nil {
		return fmt.Errorf("read credentials: %w", err)
	}
	sum := sha256.Sum256(body)
	return v4.NewSigner().SignHTTP(r.Context(), identity, r, hex.EncodeToString(sum[:]), service, s.Region, time.Now())
}
