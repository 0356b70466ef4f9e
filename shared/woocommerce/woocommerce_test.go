package woocommerce_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/secrets"
	"engang/shared/woocommerce"
)

// hush stands in keys and answers, and must not be found in an error.
const hush = "hush-4711"

type keys map[secrets.Ref]string

func (k keys) Secret(_ context.Context, ref secrets.Ref) (secrets.Value, error) {
	text, ok := k[ref]
	if !ok {
		return secrets.Value{}, secrets.ErrUnusable
	}
	return secrets.NewValue(text), nil
}

var held = keys{"ssm:targets/shop": "ck_" + hush + ":cs_" + hush, "ssm:targets/half": "ck_" + hush}

// shop answers in place of a shop.
func shop(t *testing.T, answer http.HandlerFunc) config.Target {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return config.Target{Kind: woocommerce.Kind, BaseURL: server.URL, Key: "ssm:targets/shop"}
}

// text answers with a status, headers and a body.
func text(status int, h http.Header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range h {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

var search = inbox.Search{Kind: "product", After: noon, Size: 2}

func TestAShopIsAskedForWhatHasChanged(t *testing.T) {
	var asked *http.Request
	target := shop(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r
		text(200, http.Header{"X-Wp-Total": {"5"}, "Date": {"Sun, 29 Nov 2026 12:10:00 GMT"}},
			`[{"id":7,"name":"A \u00e5","date_modified_gmt":"2026-11-29T12:00:01"}, {"date_modified_gmt":"2026-11-29T12:00:03","id":9}]`)(w, r)
	})
	target.BaseURL += "/butikk"
	got, err := woocommerce.New(http.DefaultClient, held).Search(t.Context(), target, inbox.Search{Kind: "product", After: noon.In(time.FixedZone("", 3600)), Skip: 2, Size: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := inbox.Findings{
		Objects: []inbox.Finding{
			{ChangedAt: noon.Add(time.Second), Body: []byte(`{"id":7,"name":"A \u00e5","date_modified_gmt":"2026-11-29T12:00:01"}`)},
			{ChangedAt: noon.Add(3 * time.Second), Body: []byte(`{"date_modified_gmt":"2026-11-29T12:00:03","id":9}`)},
		},
		More: true, Now: noon.Add(10 * time.Minute),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := asked.URL.Path; asked.Method != http.MethodGet || p != "/butikk/wp-json/wc/v3/products" {
		t.Errorf("asked %s %s", asked.Method, p)
	}
	if diff := cmp.Diff(map[string][]string{
		"modified_after": {"2026-11-29T12:00:00"}, "dates_are_gmt": {"true"}, "orderby": {"modified"}, "order": {"asc"}, "offset": {"2"}, "per_page": {"2"},
	}, map[string][]string(asked.URL.Query())); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	if user, password, ok := asked.BasicAuth(); !ok || user+":"+password != held["ssm:targets/shop"] {
		t.Errorf("key %s %s", user, password)
	}
}

func TestTheLastPageIsKnownByTheTotal(t *testing.T) {
	for _, tc := range []struct {
		name, total, body string
		skip              int
		more              bool
	}{
		{"nothing has changed", "0", `[]`, 0, false},
		{"all of it", "2", `[{"date_modified_gmt":"2026-11-29T12:00:01"},{"date_modified_gmt":"2026-11-29T12:00:01"}]`, 0, false},
		// The shop leaves out what the key may not see, and still counts it.
		{"a short page, with more behind it", "3", `[{"date_modified_gmt":"2026-11-29T12:00:01"}]`, 0, true},
		{"the rest", "3", `[{"date_modified_gmt":"2026-11-29T12:00:01"}]`, 2, false},
		{"behind the end", "3", `[]`, 4, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			target := shop(t, text(200, http.Header{"X-Wp-Total": {tc.total}}, tc.body))
			q := search
			q.Skip = tc.skip
			got, err := woocommerce.New(http.DefaultClient, held).Search(t.Context(), target, q)
			if err != nil || got.More != tc.more {
				t.Errorf("more %v, %v", got.More, err)
			}
		})
	}
}

func TestWhatAShopDoesWrong(t *testing.T) {
	one := `[{"id":1,"date_modified_gmt":"2026-11-29T12:00:01"}]`
	total := http.Header{"X-Wp-Total": {"1"}}
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		want   inbox.SourceError
	}{
		{"too often, for some seconds", text(429, http.Header{"Retry-After": {"30"}}, hush), inbox.SourceError{Status: 429, RetryAfter: 30 * time.Second}},
		{"maintenance, until a time by its own clock", text(503, http.Header{"Date": {"Sun, 29 Nov 2026 12:00:00 GMT"}, "Retry-After": {"Sun, 29 Nov 2026 12:02:00 GMT"}}, hush), inbox.SourceError{Status: 503, RetryAfter: 2 * time.Minute}},
		{"maintenance for a year", text(503, http.Header{"Retry-After": {"31536000"}}, hush), inbox.SourceError{Status: 503, RetryAfter: 24 * time.Hour}},
		{"maintenance until yesterday", text(503, http.Header{"Date": {"Sun, 29 Nov 2026 12:00:00 GMT"}, "Retry-After": {"Sat, 28 Nov 2026 12:00:00 GMT"}}, hush), inbox.SourceError{Status: 503}},
		{"a wait that is none", text(503, http.Header{"Retry-After": {hush}}, hush), inbox.SourceError{Status: 503}},
		{"a failure", text(500, nil, hush), inbox.SourceError{Status: 500}},
		{"another address", text(301, http.Header{"Location": {"/elsewhere?" + hush}}, hush), inbox.SourceError{Status: 301}},
		{"a key without rights", text(401, nil, `{"code":"woocommerce_rest_cannot_view","message":"`+hush+`"}`), inbox.SourceError{Status: 401}},
		{"no shop", text(404, nil, hush), inbox.SourceError{Status: 404}},
		{"an old shop", text(400, nil, `{"code":"rest_invalid_param"}`), inbox.SourceError{Status: 400}},
		{"nothing", text(204, nil, ""), inbox.SourceError{Status: 204}},
		{"a page for people", text(200, total, "<html>"+hush), inbox.SourceError{Status: 200}},
		{"half a page", text(200, total, one[:20]), inbox.SourceError{Status: 200}},
		{"a page and more", text(200, total, one+hush), inbox.SourceError{Status: 200}},
		{"an object in place of a list", text(200, total, `{"message":"`+hush+`"}`), inbox.SourceError{Status: 200}},
		{"null in place of a list", text(200, total, `null`), inbox.SourceError{Status: 200}},
		{"texts in place of objects", text(200, total, `["`+hush+`"]`), inbox.SourceError{Status: 200}},
		{"no time of the change", text(200, total, `[{"id":1,"date_modified_gmt":null}]`), inbox.SourceError{Status: 200}},
		{"another time than it writes", text(200, total, `[{"date_modified_gmt":"`+hush+`"}]`), inbox.SourceError{Status: 200}},
		{"no total", text(200, nil, one), inbox.SourceError{Status: 200}},
		{"a total that is none", text(200, http.Header{"X-Wp-Total": {"-1"}}, one), inbox.SourceError{Status: 200}},
		{"a page that is too large", text(200, total, one+strings.Repeat(" ", 2000)), inbox.SourceError{Status: 200, TooMuch: true}},
		{"a page that never ends", slow, inbox.SourceError{TooMuch: true}},
		{"a connection that breaks off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, inbox.SourceError{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := 0
			target := shop(t, func(w http.ResponseWriter, r *http.Request) { asked++; tc.answer(w, r) })
			_, err := woocommerce.New(http.DefaultClient, held).Within(1000, 200*time.Millisecond).Search(t.Context(), target, search)
			got, ok := errors.AsType[*inbox.SourceError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if got.Reason == "" || asked != 1 {
				t.Errorf("reason %q after %d calls", got.Reason, asked)
			}
			if strings.Contains(err.Error(), hush) || strings.Contains(err.Error(), target.BaseURL) {
				t.Errorf("repeats what it was told: %v", err)
			}
			tc.want.Reason = got.Reason
			if diff := cmp.Diff(tc.want, *got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// slow begins a page and never ends it.
func slow(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-WP-Total", "1")
	_, _ = w.Write([]byte("["))
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func TestACallThatIsGivenUpIsNoFaultOfTheShop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	target := shop(t, func(w http.ResponseWriter, r *http.Request) { cancel(); slow(w, r) })
	_, err := woocommerce.New(http.DefaultClient, held).Search(ctx, target, search)
	if _, blamed := errors.AsType[*inbox.SourceError](err); blamed || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAShopThatIsNotThere(t *testing.T) {
	target := shop(t, nil)
	target.BaseURL = "http://127.0.0.1:1"
	_, err := woocommerce.New(http.DefaultClient, held).Search(t.Context(), target, search)
	if got, ok := errors.AsType[*inbox.SourceError](err); !ok || got.TooMuch || got.Status != 0 {
		t.Errorf("got %v", err)
	}
}

// A key must not travel where others can read it, nor to an address that nobody configured.
func TestNoShopIsAskedThatIsNotConfiguredAsItShouldBe(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*config.Target, *inbox.Search)
	}{
		{"without TLS", func(t *config.Target, _ *inbox.Search) {
			t.BaseURL = strings.Replace(t.BaseURL, "127.0.0.1", "localhost.example.com", 1)
		}},
		{"by a name that may be anybody's", func(t *config.Target, _ *inbox.Search) {
			t.BaseURL = strings.Replace(t.BaseURL, "127.0.0.1", "localhost", 1)
		}},
		{"a key in the address", func(t *config.Target, _ *inbox.Search) {
			t.BaseURL = strings.Replace(t.BaseURL, "//", "//"+hush+":"+hush+"@", 1)
		}},
		{"a query in the address", func(t *config.Target, _ *inbox.Search) { t.BaseURL += "?x=" + hush }},
		{"no address", func(t *config.Target, _ *inbox.Search) { t.BaseURL = hush }},
		{"no key", func(t *config.Target, _ *inbox.Search) { t.Key = "ssm:targets/none" }},
		{"half a key", func(t *config.Target, _ *inbox.Search) { t.Key = "ssm:targets/half" }},
		{"a list that cannot be asked", func(_ *config.Target, q *inbox.Search) { q.Kind = "customer" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := 0
			target := shop(t, func(http.ResponseWriter, *http.Request) { asked++ })
			q := search
			tc.change(&target, &q)
			_, err := woocommerce.New(http.DefaultClient, held).Search(t.Context(), target, q)
			if _, blamed := errors.AsType[*inbox.SourceError](err); err == nil || blamed || asked != 0 {
				t.Errorf("%d calls, %v", asked, err)
			}
			if strings.Contains(fmt.Sprint(err), hush) {
				t.Errorf("repeats what it was told: %v", err)
			}
		})
	}
}
