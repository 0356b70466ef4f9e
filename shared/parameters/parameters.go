// Package parameters reads secrets from the parameter store, under the path of one stack. Writing,
// listing and removing are the operator's acts, done under the operator's own rights.
package parameters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"engang/shared/secrets"
	"engang/shared/telemetry"
)

// batch is how many parameters one GetParameters call may name.
const batch = 10

// A Store is the part of the parameter store that belongs to one stack. It is safe for concurrent use.
type Store struct {
	client *ssm.Client
	path   string // "/engang/stack"
}

// Open returns the store below path. Nothing is called yet.
func Open(cfg aws.Config, path string) *Store {
	return &Store{client: ssm.NewFromConfig(cfg), path: strings.TrimSuffix(path, "/")}
}

// Parameters returns the values of the paths ("hooks/woo-shop/1") that exist, decrypted; those that do
// not exist are left out. It fails when the store cannot be asked, and then returns none.
func (s *Store) Parameters(ctx context.Context, paths []string) (map[string]secrets.Value, error) {
	ctx = telemetry.WithCall(ctx, "read secrets")
	found := make(map[string]secrets.Value, len(paths))
	for part := range slices.Chunk(unique(paths), batch) {
		names := make([]string, len(part))
		for i, p := range part {
			names[i] = s.name(p)
		}
		out, err := s.client.GetParameters(ctx, &ssm.GetParametersInput{Names: names, WithDecryption: aws.Bool(true)})
		if err != nil {
			return nil, fmt.Errorf("get parameters: %w", err)
		}
		for _, p := range out.Parameters {
			found[strings.TrimPrefix(aws.ToString(p.Name), s.path+"/")] = secrets.NewValue(aws.ToString(p.Value))
		}
	}
	return found, nil
}

// ErrExists says that a secret stands where only a new one was to be put.
var ErrExists = errors.New("a secret stands there")

// Put stores a secret encrypted, in place of what was there. It is the operator's act: no function has
// the right to it. Its error has the store's code for a refusal and not its words, which may repeat the
// value.
func (s *Store) Put(ctx context.Context, path string, value secrets.Value) error {
	return s.put(ctx, path, value, true)
}

// PutNew does the same where nothing stands yet, and otherwise changes nothing and returns an error that
// wraps [ErrExists]: of two operators at once one is refused. After a lost answer what stands may be ours.
func (s *Store) PutNew(ctx context.Context, path string, value secrets.Value) error {
	return s.put(ctx, path, value, false)
}

func (s *Store) put(ctx context.Context, path string, value secrets.Value, replace bool) error {
	_, err := s.client.PutParameter(telemetry.WithCall(ctx, "write secret"), &ssm.PutParameterInput{
		Name:      aws.String(s.name(path)),
		Value:     aws.String(string(value.Reveal())),
		Type:      types.ParameterTypeSecureString,
		Overwrite: aws.Bool(replace),
	})
	if refused, ok := errors.AsType[smithy.APIError](err); ok {
		fault := refused.ErrorFault()
		if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answer.HTTPStatusCode() >= http.StatusInternalServerError {
			fault = smithy.FaultServer
		}
		err = &smithy.GenericAPIError{Code: refused.ErrorCode(), Message: "refused by the parameter store", Fault: fault}
		if refused.ErrorCode() == (&types.ParameterAlreadyExists{}).ErrorCode() {
			err = ErrExists
		}
	}
	if err != nil {
		return fmt.Errorf("put parameter %s: %w", path, err)
	}
	return nil
}

// Plain tells whether what stands at a path is kept unencrypted, as somebody has put it there by other means. The store
// never changes the type of what stands: such a one is removed before the secret is put encrypted.
func (s *Store) Plain(ctx context.Context, path string) (bool, error) {
	out, err := s.client.GetParameters(telemetry.WithCall(ctx, "read secrets"), &ssm.GetParametersInput{Names: []string{s.name(path)}})
	if err != nil {
		return false, fmt.Errorf("get parameter %s: %w", path, err)
	}
	return slices.ContainsFunc(out.Parameters, func(p types.Parameter) bool { return p.Type != types.ParameterTypeSecureString }), nil
}

// Below returns every secret whose path begins with folder and a slash, decrypted. It is the operator's
// act, as [Store.Put] is. It fails when the store cannot be asked, and then returns none.
func (s *Store) Below(ctx context.Context, folder string) (map[string]secrets.Value, error) {
	ctx = telemetry.WithCall(ctx, "list secrets")
	found := map[string]secrets.Value{}
	pages := ssm.NewGetParametersByPathPaginator(s.client, &ssm.GetParametersByPathInput{
		Path: aws.String(s.name(folder)), Recursive: aws.Bool(true), WithDecryption: aws.Bool(true), MaxResults: aws.Int32(batch),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list parameters below %s: %w", folder, err)
		}
		for _, p := range page.Parameters {
			found[strings.TrimPrefix(aws.ToString(p.Name), s.path+"/")] = secrets.NewValue(aws.ToString(p.Value))
		}
	}
	return found, nil
}

// Remove deletes a secret, and tells whether there was one.
func (s *Store) Remove(ctx context.Context, path string) (bool, error) {
	_, err := s.client.DeleteParameter(telemetry.WithCall(ctx, "remove secret"), &ssm.DeleteParameterInput{Name: aws.String(s.name(path))})
	if _, missing := errors.AsType[*types.ParameterNotFound](err); missing {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove parameter %s: %w", path, err)
	}
	return true, nil
}

func (s *Store) name(path string) string { return s.path + "/" + path }

// unique drops repeats: the parameter store refuses a call that names one parameter twice.
func unique(paths []string) []string {
	sorted := slices.Sorted(slices.Values(paths))
	return slices.Compact(sorted)
}
