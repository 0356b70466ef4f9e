// Package shop stands in for a WooCommerce: for the products that its webhooks tell of, and for its REST interface, which
// lists what has changed.
package shop

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Stamp is how WooCommerce writes a time.
const Stamp = "2006-01-02T15:04:05"

// A Product is a product as a test states it.
type Product struct {
	ID       int
	Name     string
	Modified string // date_modified_gmt, a [Stamp]; empty: one of its own
	Extra    string // further members: `,"x":1`
}

// Body is the product as a webhook and the list show it.
func (p Product) Body() string {
	if p.Modified == "" {
		p.Modified = "2026-11-29T11:59:58"
	}
	return fmt.Sprintf(`{"id":%d,"name":%q,"description":"<p>%s of solid oak, made by hand and oiled twice, for kitchens and for halls.<\/p>","date_modified_gmt":%q,"categories":[{"id":1,"name":"Furniture"}],"attributes":[{"name":"Material","options":["oak"]}]%s}`,
		p.ID, p.Name, p.Name, p.Modified, p.Extra)
}

// A Shop is one whose webhooks may get lost: its REST interface lists what has changed. Its fields are set and read while
// nobody asks.
type Shop struct {
	Key      string // "consumer key:secret"; any other one is refused
	Products []Product
	Rewrite  func(body string) string // what the list writes otherwise than the webhook
	Asked    int
	Refused  []string // questions that WooCommerce would not understand

	mu     sync.Mutex
	status int
}

// Break has the shop answer with a status from now on, also while it is asked; zero: it lists again.
func (s *Shop) Break(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// ServeHTTP lists products by the second of their change, and within it by id.
func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Asked++
	q := r.URL.Query()
	user, password, _ := r.BasicAuth()
	after, err := time.Parse(Stamp, q.Get("modified_after"))
	if r.Method != http.MethodGet || r.URL.Path != "/wp-json/wc/v3/products" || user+":"+password != s.Key || err != nil ||
		q.Get("dates_are_gmt") != "true" || q.Get("orderby") != "modified" || q.Get("order") != "asc" {
		s.Refused = append(s.Refused, r.URL.String())
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
		return
	}
	fit := s.changed(after)
	skip, _ := strconv.Atoi(q.Get("offset"))
	size, _ := strconv.Atoi(q.Get("per_page"))
	var page []string
	for _, p := range fit[min(skip, len(fit)):min(skip+size, len(fit))] {
		body := p.Body()
		if s.Rewrite != nil {
			body = s.Rewrite(body)
		}
		page = append(page, body)
	}
	w.Header().Set("X-WP-Total", strconv.Itoa(len(fit)))
	fmt.Fprintf(w, "[%s]", strings.Join(page, ","))
}

// changed are the products that have changed since, in the order of the list.
func (s *Shop) changed(after time.Time) []Product {
	var fit []Product
	for _, p := range s.Products {
		if at, _ := time.Parse(Stamp, p.Modified); at.After(after) {
			fit = append(fit, p)
		}
	}
	slices.SortFunc(fit, func(a, b Product) int {
		if c := strings.Compare(a.Modified, b.Modified); c != 0 {
			return c
		}
		return a.ID - b.ID
	})
	return fit
}
