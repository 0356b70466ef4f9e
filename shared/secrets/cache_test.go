package secrets_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/secrets"
)

// source is a parameter store that counts how often it is asked.
type source struct {
	mu     sync.Mutex
	values map[string]string
	err    error
	slow   time.Duration
	asked  [][]string
}

func (s *source) Parameters(ctx context.Context, paths []string) (map[string]secrets.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, slices.Clone(paths))
	select {
	case <-time.After(s.slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	found := map[string]secrets.Value{}
	for _, p := range paths {
		if v, ok := s.values[p]; ok {
			found[p] = secrets.NewValue(v)
		}
	}
	return found, s.err
}

var errDown = errors.New("throttled")

const ttl = 5 * time.Minute

func reveal(values []secrets.Value) (texts []string) {
	for _, v := range values {
		texts = append(texts, string(v.Reveal()))
	}
	return texts
}

func TestSecretsAreAskedForOnceUntilTheyAreOld(t *testing.T) {
	s := &source{values: map[string]string{"hooks/a/1": "one", "hooks/a/2": "two"}}
	now := time.Unix(0, 0)
	c := secrets.NewCache(s, ttl, func() time.Time { return now })
	refs := []secrets.Ref{"ssm:hooks/a/2", "ssm:hooks/a/1"}
	for _, at := range []time.Duration{0, ttl - 1, ttl, 2*ttl - 1} {
		now = time.Unix(0, 0).Add(at)
		got, err := c.Secrets(t.Context(), refs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"two", "one"}, reveal(got)); diff != "" {
			t.Errorf("after %s, in the order asked (-want +got):\n%s", at, diff)
		}
	}
	if len(s.asked) != 2 {
		t.Errorf("asked %d times in two lives, want 2: %v", len(s.asked), s.asked)
	}
}

func TestARotatedSecretIsSeenAfterItsTimeToLive(t *testing.T) {
	s := &source{values: map[string]string{"hooks/a/1": "old"}}
	now := time.Unix(0, 0)
	c := secrets.NewCache(s, ttl, func() time.Time { return now })
	if v, err := c.Secret(t.Context(), "ssm:hooks/a/1"); err != nil || string(v.Reveal()) != "old" {
		t.Fatalf("Secret = %v, %v", v, err)
	}
	s.values["hooks/a/1"] = "new"
	now = now.Add(ttl)
	if v, err := c.Secret(t.Context(), "ssm:hooks/a/1"); err != nil || string(v.Reveal()) != "new" {
		t.Errorf("the old value is still used, or none: %v", err)
	}
}

func TestUnusableSecretsFailClosed(t *testing.T) {
	values := map[string]string{"hooks/a/1": "good", "hooks/empty/1": "", "hooks/blank/1": " \n"}
	for _, tc := range []struct {
		name string
		refs []secrets.Ref
		want []string // nil: ErrUnusable
	}{
		{"one of two is missing", []secrets.Ref{"ssm:hooks/none/1", "ssm:hooks/a/1"}, []string{"good"}},
		{"one of two is empty", []secrets.Ref{"ssm:hooks/a/1", "ssm:hooks/empty/1"}, []string{"good"}},
		{"one of two is not a reference", []secrets.Ref{"hush", "ssm:hooks/a/1"}, []string{"good"}},
		{"all are missing", []secrets.Ref{"ssm:hooks/none/1", "ssm:hooks/none/2"}, nil},
		{"the only one is empty", []secrets.Ref{"ssm:hooks/empty/1"}, nil}, // an empty key would accept a forgery
		{"the only one is white space", []secrets.Ref{"ssm:hooks/blank/1"}, nil},
		{"the only one is a secret in place of a reference", []secrets.Ref{"hush"}, nil},
		{"no references at all", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			c := secrets.NewCache(&source{values: values}, ttl, time.Now).Log(slog.New(slog.NewTextHandler(&b, nil)))
			got, err := c.Secrets(t.Context(), tc.refs)
			if diff := cmp.Diff(tc.want, reveal(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if unusable := errors.Is(err, secrets.ErrUnusable); unusable != (tc.want == nil) || (err != nil) != unusable {
				t.Errorf("error %v", err)
			}
			if out := b.String() + fmt.Sprint(err); strings.Contains(out, "hush") || strings.Contains(out, "good") {
				t.Errorf("a secret is printed: %s", out)
			}
			if left := len(tc.refs) - len(tc.want); strings.Count(b.String(), "secret left out") != left {
				t.Errorf("want %d lines about what is left out:\n%s", left, &b)
			}
		})
	}
}

func TestASecretSetLateIsFoundSoon(t *testing.T) {
	s := &source{values: map[string]string{}}
	now := time.Unix(0, 0)
	c := secrets.NewCache(s, ttl, func() time.Time { return now })
	for range 3 {
		if _, err := c.Secret(t.Context(), "ssm:hooks/a/1"); !errors.Is(err, secrets.ErrUnusable) {
			t.Fatal(err)
		}
	}
	if len(s.asked) != 1 {
		t.Errorf("asked %d times at once: deliveries to a broken endpoint must not throttle the store", len(s.asked))
	}
	s.values["hooks/a/1"] = "late"
	now = now.Add(ttl / 10)
	if v, err := c.Secret(t.Context(), "ssm:hooks/a/1"); err != nil || string(v.Reveal()) != "late" {
		t.Errorf("Secret = %v, %v", v, err)
	}
}

func TestWhileTheSourceDoesNotAnswer(t *testing.T) {
	s := &source{values: map[string]string{"hooks/a/1": "known"}}
	now := time.Unix(0, 0)
	c := secrets.NewCache(s, ttl, func() time.Time { return now })
	known := []secrets.Ref{"ssm:hooks/a/1", "ssm:hooks/a/2"} // the second is known not to exist
	if _, err := c.Secrets(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	s.err = errDown

	now = now.Add(ttl)
	for range 3 {
		if got, err := c.Secrets(t.Context(), known); err != nil || len(got) != 1 {
			t.Fatalf("a known secret was not used: %d, %v", len(got), err)
		}
	}
	if len(s.asked) != 2 {
		t.Errorf("asked %d times, want once and then not for a while", len(s.asked)-1)
	}
	if _, err := c.Secrets(t.Context(), []secrets.Ref{"ssm:hooks/a/1", "ssm:hooks/b/1"}); !errors.Is(err, errDown) {
		t.Errorf("one of the secrets was never read, and might be the one that signs: %v", err)
	}
	now = time.Unix(0, 0).Add(12 * ttl)
	if _, err := c.Secrets(t.Context(), known); !errors.Is(err, errDown) || errors.Is(err, secrets.ErrUnusable) {
		t.Errorf("a secret that may be retired long since was used: %v", err)
	}
	s.err = nil
	if got, err := c.Secrets(t.Context(), known); err != nil || len(got) != 1 {
		t.Errorf("not read again: %v", err)
	}
}

func TestCallersThatMissAtOnceShareOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{values: map[string]string{"hooks/a/1": "one"}, slow: time.Second}
		c := secrets.NewCache(s, ttl, time.Now)
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if v, err := c.Secret(t.Context(), "ssm:hooks/a/1"); err != nil || string(v.Reveal()) != "one" {
					t.Errorf("Secret = %v, %v", v, err)
				}
			})
		}
		synctest.Wait() // one asks, the others wait for it
		if _, err := c.Secret(impatient, "ssm:hooks/a/1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller waited beyond its deadline: %v", err)
		}
		wg.Wait()
		if len(s.asked) != 1 {
			t.Errorf("asked %d times", len(s.asked))
		}
	})
}
