package woocommerce

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"engang/shared/inbox"
)

// stamp is how a shop writes times: in UTC where the name of the field says gmt, without a zone.
const stamp = "2006-01-02T15:04:05"

// read reads a page. The bytes of each object are kept as they came: they are those of its webhook.
func read(res *http.Response, raw []byte, q inbox.Search) (inbox.Findings, error) {
	bad := func(reason string) (inbox.Findings, error) {
		return inbox.Findings{}, &inbox.SourceError{Reason: reason, Status: res.StatusCode}
	}
	var objects []json.RawMessage
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&objects); err != nil || objects == nil {
		return bad("sent no list of objects")
	}
	if _, err := d.Token(); err != io.EOF {
		return bad("sent something behind its list of objects")
	}
	total, err := strconv.Atoi(res.Header.Get("X-WP-Total"))
	if err != nil || total < 0 {
		return bad("does not say how many objects there are") // a page may be short of objects that the key may not see
	}
	page := inbox.Findings{More: q.Skip+q.Size < total, Now: date(res.Header)}
	for _, object := range objects {
		var one struct {
			ChangedAt string `json:"date_modified_gmt"`
		}
		if json.Unmarshal(object, &one) != nil {
			return bad("sent something else than objects in its list")
		}
		at, err := time.Parse(stamp, one.ChangedAt)
		if err != nil {
			return bad("sent an object without the time of its last change")
		}
		page.Objects = append(page.Objects, inbox.Finding{ChangedAt: at, Body: object})
	}
	return page, nil
}

// date is the shop's own time, zero if it sends none.
func date(h http.Header) time.Time {
	at, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// refusal says what an answer without a page means.
func refusal(res *http.Response) error {
	e := &inbox.SourceError{Status: res.StatusCode, RetryAfter: rest(res.Header)}
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		e.Reason = "redirects, which is not followed: base_url must be the address that it redirects to"
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		e.Reason = "does not accept the key, which needs the right to read"
	case res.StatusCode == http.StatusNotFound:
		e.Reason = "has no REST interface of WooCommerce at base_url"
	case res.StatusCode == http.StatusBadRequest:
		e.Reason = "does not know the question: it needs WooCommerce 5.8"
	case res.StatusCode == http.StatusTooManyRequests:
		e.Reason = "was asked too often"
	case res.StatusCode >= 500:
		e.Reason = "failed"
	default:
		e.Reason = "gave an answer that is not known here"
	}
	return e
}

// rest is how long the shop wants to be left alone, in seconds or until a time by its own clock.
func rest(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	seconds, err := strconv.Atoi(text)
	wait := min(time.Duration(max(seconds, 0)), longestRest/time.Second) * time.Second
	if err != nil {
		until, err := http.ParseTime(text)
		if err != nil || date(h).IsZero() {
			return 0
		}
		wait = until.Sub(date(h))
	}
	return min(max(wait, 0), longestRest)
}
