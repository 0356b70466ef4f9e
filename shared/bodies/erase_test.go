package bodies_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"engang/shared/bodies"
	"engang/shared/inbox"
)

func TestEverythingThatWasKeptForAnEventIsErased(t *testing.T) {
	b := engine(t)
	keep := func(event inbox.EventID, size int) inbox.Body {
		t.Helper()
		body, err := b.Keep(t.Context(), event, noise(size))
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	// The event's own, two of conflicting deliveries, one beside the event; and one of an event whose id begins alike.
	mine := []inbox.Body{keep(event, 40_000), keep(event, 50_000), keep(event, 60_000)}
	keep(event, 100)
	other := keep(event+"q", 40_000)
	for _, want := range []int{3, 0} {
		if n, err := b.Erase(t.Context(), event); err != nil || n != want {
			t.Errorf("erased %d, %v; want %d", n, err, want)
		}
	}
	for _, body := range mine {
		if _, err := b.Read(t.Context(), body); !errors.Is(err, bodies.ErrGone) {
			t.Errorf("read %s: %v, want ErrGone", body.Key, err)
		}
	}
	if _, err := b.Read(t.Context(), other); err != nil {
		t.Errorf("the body of another event is gone: %v", err)
	}
}

func TestABodyThatNobodyWantsIsDropped(t *testing.T) {
	b := engine(t)
	large, err := b.Keep(t.Context(), event, noise(40_000))
	if err != nil {
		t.Fatal(err)
	}
	small, err := b.Keep(t.Context(), event, noise(100))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, body := range []inbox.Body{large, small} {
			if err := b.Drop(t.Context(), body); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := b.Read(t.Context(), large); err == nil {
		t.Error("it can still be read")
	}
}

func TestABucketThatDoesNotAnswerErasesNothingInSilence(t *testing.T) {
	gone := bodies.Open(aws.Config{Region: "eu-north-1", BaseEndpoint: aws.String("http://127.0.0.1:1"),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} }}, "none")
	if n, err := gone.Erase(t.Context(), event); err == nil || n != 0 {
		t.Errorf("Erase = %d, %v", n, err)
	}
	if err := gone.Drop(t.Context(), inbox.Body{Key: "raw/x/y"}); err == nil {
		t.Error("Drop said nothing")
	}
}
