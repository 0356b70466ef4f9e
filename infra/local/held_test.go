package local_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/sivchari/kumo"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/infra/modelstub"
)

// A real model is called with the operator's key at its own pace, and the key never reaches the engine,
// which may write into a folder.
func TestARealModelsKeyStaysInMemory(t *testing.T) {
	t.Parallel()
	const key = "sk-only-in-memory"
	var calls atomic.Int32
	stub := modelstub.New()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+key {
			calls.Add(1)
		}
		stub.ServeHTTP(w, r)
	}))
	defer model.Close()
	s := localtest.Start(t, local.Options{OpenAIKey: key, ModelURL: model.URL + "/v1"})
	deliver(t, s, product)
	if o := settled(t, s, "product:794"); len(o.Results) != 1 || calls.Load() != 1 || s.Stub() != nil || s.Speed() != 1 {
		t.Errorf("object %+v, %d calls with the key, speed %v", o, calls.Load(), s.Speed())
	}
	if err := s.Faults().Add("model:429"); err == nil {
		t.Error("a fault of the stub was set with a real model")
	}
	engine := kumo.NewServer() // another door to the same state
	defer engine.Close()
	client := ssm.NewFromConfig(aws.Config{Region: "us-east-1", BaseEndpoint: &engine.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
	pages := ssm.NewGetParametersByPathPaginator(client, &ssm.GetParametersByPathInput{Path: aws.String("/"), Recursive: aws.Bool(true), WithDecryption: aws.Bool(true)})
	for looked := 0; pages.HasMorePages() || looked == 0; {
		page, err := pages.NextPage(t.Context())
		if err != nil || len(page.Parameters) == 0 {
			t.Fatalf("%d parameters, %v", len(page.Parameters), err)
		}
		for _, p := range page.Parameters {
			if looked++; strings.Contains(*p.Value, key) {
				t.Errorf("the engine holds the key as %s", *p.Name)
			}
		}
	}
}
