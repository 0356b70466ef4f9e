package bodies_test

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	"github.com/sivchari/kumo"

	"engang/shared/bodies"
	"engang/shared/inbox"
)

func TestPackedBodiesComeBackByteForByte(t *testing.T) {
	for _, tc := range []struct {
		name string
		raw  []byte
	}{
		{"nothing", nil},
		{"one byte", []byte("x")},
		{"escapes as WooCommerce writes them", []byte(`{"name":"Mug \/ \u00c5"}`)},
		{"a large body that packs well", []byte(strings.Repeat(`{"a":1},`, 500_000))},
		{"bytes that do not pack", noise(70_000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			packed := bodies.Pack(tc.raw)
			got, err := bodies.Unpack(packed, len(tc.raw))
			if err != nil || !bytes.Equal(got, tc.raw) {
				t.Fatalf("Unpack = %d bytes, %v; want %d", len(got), err, len(tc.raw))
			}
			if !bytes.Equal(packed, bodies.Pack(tc.raw)) {
				t.Error("packing twice gave two results")
			}
		})
	}
}

func TestPackedBytesAreTheCallersOwn(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			raw := bytes.Repeat([]byte{byte(i)}, 1000+i)
			for range 200 {
				if got, err := bodies.Unpack(bodies.Pack(raw), len(raw)); err != nil || !bytes.Equal(got, raw) {
					t.Errorf("body %d came back as another: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestUnpackRefusesWhatIsNotTheBody(t *testing.T) {
	raw := []byte(strings.Repeat("secret customer ", 100))
	packed := bodies.Pack(raw)
	broken := bytes.Clone(packed)
	broken[len(broken)-5] ^= 1 // inside the checksum
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 64<<20))
	z.Close()
	for _, tc := range []struct {
		name   string
		packed []byte
		size   int
	}{
		{"bytes that were never packed", raw, len(raw)},
		{"nothing", nil, 0},
		{"cut off", packed[:len(packed)-9], len(raw)},
		{"another checksum", broken, len(raw)},
		{"less than was said", packed, len(raw) + 1},
		{"more than was said", packed, len(raw) - 1},
		{"64 MiB where 100 bytes were said", bomb.Bytes(), 100},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := bodies.Unpack(tc.packed, tc.size)
			if !errors.Is(err, bodies.ErrDamaged) || got != nil {
				t.Fatalf("Unpack = %d bytes, %v; want ErrDamaged", len(got), err)
			}
			if strings.Contains(err.Error(), "customer") {
				t.Errorf("error repeats the body: %v", err)
			}
		})
	}
}

func engine(t *testing.T) *bodies.Bucket {
	t.Helper()
	srv := kumo.NewServer()
	t.Cleanup(srv.Close)
	cfg := aws.Config{
		Region:       "eu-north-1",
		BaseEndpoint: &srv.URL,
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
	name := strings.ToLower(t.Name())
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return bodies.Open(cfg, name)
}

const event inbox.EventID = "evt_abcdefghijklmnop"

func noise(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

func TestKeptBodiesAreReadBack(t *testing.T) {
	b := engine(t)
	for _, tc := range []struct {
		name   string
		raw    []byte
		inline bool
	}{
		{"small, beside the event", []byte(`{"id":794}`), true},
		{"large that packs small, beside the event", []byte(strings.Repeat(`{"id":794},`, 10_000)), true},
		{"just under the limit, beside the event", noise(bodies.MaxInline - 28), true},
		{"over the limit once packed, in the bucket", noise(bodies.MaxInline + 1), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first, err := b.Keep(t.Context(), event, tc.raw)
			if err != nil {
				t.Fatal(err)
			}
			if (first.Key == "") != tc.inline || (len(first.Packed) > 0) != tc.inline || len(first.Packed) > bodies.MaxInline {
				t.Errorf("kept %d bytes beside the event, key %q", len(first.Packed), first.Key)
			}
			again, err := b.Keep(t.Context(), event, tc.raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, again); diff != "" {
				t.Errorf("kept again (-first +again):\n%s", diff)
			}
			got, err := b.Read(t.Context(), first)
			if err != nil || !bytes.Equal(got, tc.raw) {
				t.Fatalf("Read = %d bytes, %v; want %d", len(got), err, len(tc.raw))
			}
		})
	}
}

// A conflicting delivery has the first one's event id: it must not replace the bytes that are worked on.
func TestAConflictingBodyReplacesNothing(t *testing.T) {
	b := engine(t)
	raw := noise(40_000)
	first, err := b.Keep(t.Context(), event, raw)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Keep(t.Context(), event, noise(40_000))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{first.Key, second.Key} {
		if !strings.HasPrefix(key, "raw/"+string(event)+"/") { // erasure lists what is below the event
			t.Errorf("%s is not found below the event", key)
		}
	}
	if got, err := b.Read(t.Context(), first); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("the first body is lost: %d bytes, %v", len(got), err)
	}
}

func TestBucketThatDoesNotHaveIt(t *testing.T) {
	b := engine(t)
	if got, err := b.Read(t.Context(), inbox.Body{Key: "raw/" + string(event) + "/none", Bytes: 1}); err == nil {
		t.Errorf("an absent body was read: %d bytes", len(got))
	}
	gone := bodies.Open(aws.Config{Region: "eu-north-1", BaseEndpoint: aws.String("http://127.0.0.1:1"),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} }}, "none")
	if _, err := gone.Keep(t.Context(), event, noise(40_000)); err == nil || !strings.HasPrefix(err.Error(), "put body raw/") {
		t.Errorf("Keep = %v", err)
	}
}

func BenchmarkPack(b *testing.B) {
	raw := []byte(strings.Repeat(`{"id":794,"name":"Mug","price":"12.50","sku":"MUG-1"},`, 150))
	for b.Loop() {
		bodies.Pack(raw)
	}
}
