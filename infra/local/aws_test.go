package local_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/parameters"
	"engang/shared/secrets"
)

// A program beside the system finds the engine as an operator finds AWS; what it writes there is read at
// once when it says so.
func TestAnOperatorFindsTheEngine(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	ask := func(method string) (status int, at local.AWS) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/local/aws", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			if err := json.NewDecoder(answer.Body).Decode(&at); err != nil {
				t.Fatal(err)
			}
		}
		return answer.StatusCode, at
	}
	if status, _ := ask(http.MethodDelete); status != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d", status)
	}
	status, at := ask(http.MethodGet)
	if status != http.StatusOK {
		t.Fatalf("GET: %d", status)
	}
	vault := parameters.Open(aws.Config{Region: at.Region, BaseEndpoint: &at.Endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}, at.SecretPath)
	held, err := vault.Below(t.Context(), "hooks")
	if err != nil || string(held["hooks/woo-shop/1"].Reveal()) != local.Secret("woocommerce", "ssm:hooks/woo-shop/1") {
		t.Fatalf("%d secrets, %v", len(held), err)
	}
	if status, body := deliver(t, s, product); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if err := vault.Put(t.Context(), "hooks/woo-shop/1", secrets.NewValue("another secret than before")); err != nil {
		t.Fatal(err)
	}
	if status, body := deliver(t, s, product); status != http.StatusOK {
		t.Errorf("before it was said: %d %s", status, body)
	}
	if status, again := ask(http.MethodPost); status != http.StatusOK || again != at {
		t.Errorf("POST: %d %+v", status, again)
	}
	if status, body := deliver(t, s, product); status != http.StatusUnauthorized {
		t.Errorf("after it was said: %d %s", status, body)
	}
}
