package integration_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"engang/infra/local"
	"engang/shared/control"
	"engang/shared/problem"
	"engang/shared/recipe"
)

// eachWithDrafts is each with a system whose product cards are drafts that the group catalogue decides about.
func eachWithDrafts(t *testing.T, o local.Options, test func(t *testing.T, s *system)) {
	t.Helper()
	each(t, o, func(t *testing.T, s *system) {
		s.drafts()
		test(t, s)
	})
}

func (s *system) drafts() {
	s.t.Helper()
	set := s.Config()
	set.Recipes = slices.Clone(set.Recipes)
	for i, r := range set.Recipes {
		if r.Name == "product-card" {
			r.Version, r.Policy, r.Review = r.Version+1, recipe.PolicyDraft, &recipe.Review{By: []string{"catalogue"}}
			set.Recipes[i] = r
		}
	}
	if _, err := s.Apply(s.t.Context(), set); err != nil {
		s.t.Fatal(err)
	}
}

// A decision is what a person asked for, and what the API answered.
type decision struct {
	Code    int
	Done    control.Decided
	Problem problem.Problem
}

// decide asks for a decision as somebody: "approve", "reject" or "dismiss".
func (s *system) decide(who, what string, in map[string]any) decision {
	s.t.Helper()
	d, err := s.asks(who, what, in)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *system) asks(who, what string, in map[string]any) (d decision, err error) {
	if in["reason"] == nil {
		in["reason"] = "says " + who
	}
	body, err := json.Marshal(in)
	if err != nil {
		return d, err
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL()+"/api/review/"+what, bytes.NewReader(body))
	if err != nil {
		return d, err
	}
	r.Header.Set("X-Engang-As", who)
	a, err := s.try(r)
	if err != nil {
		return d, err
	}
	d.Code = a.Code
	if a.Code == http.StatusOK {
		return d, json.Unmarshal([]byte(a.Body), &d.Done)
	}
	return d, json.Unmarshal([]byte(a.Body), &d.Problem)
}

// ann and bob are as the API knows them.
const people = "arn:aws:iam::000000000000:user/"

// of names the draft of an operation.
func of(o control.Operation) map[string]any {
	return map[string]any{"id": o.ID, "digest": o.Review.Digest}
}

// draftOf is the operation that a version of the product waits for, in review.
func (s *system) draftOf(version string) control.Operation {
	s.t.Helper()
	for _, o := range s.object("product:794").Operations {
		if o.ObjectVersion == version {
			if o.State != "review" || o.Review == nil || o.Review.Digest == "" || o.Review.Owner != "catalogue" || o.Result != nil {
				s.t.Fatalf("operation %+v, want a draft", o)
			}
			return o
		}
	}
	s.t.Fatalf("no operation of %s", version)
	return control.Operation{}
}

// waits is what the review list shows, by kind and id.
func (s *system) waits(query string) (list []string) {
	s.t.Helper()
	var page control.List[control.Waiting]
	if code := s.get("/api/review?"+query, &page); code != http.StatusOK {
		s.t.Fatalf("review: %d", code)
	}
	for _, w := range page.Items {
		list = append(list, w.Kind+" "+w.ID)
	}
	return list
}

// bytesOf is the output of an operation or a result as the table stores it.
func (s *system) bytesOf(sk string) string {
	s.t.Helper()
	for _, i := range s.items() {
		if strings.HasPrefix(i["pk"], "B#") && strings.HasPrefix(i["sk"], sk) {
			return i["out"]
		}
	}
	return ""
}

// acts is the audit log in short, but for what was applied.
func (s *system) acts() (list []string) {
	s.t.Helper()
	for _, i := range s.items() {
		if strings.HasPrefix(i["pk"], "A#") && !strings.HasPrefix(i["act"], "apply configuration") {
			if i["note"] == "" || i["target"] == "" || i["expires_at"] == "" {
				s.t.Errorf("entry %v", i)
			}
			list = append(list, strings.TrimPrefix(i["by"], people)+": "+i["act"])
		}
	}
	return list
}

// recordedActs demands what the audit log holds, in whatever order.
func (s *system) recordedActs(want ...string) {
	s.t.Helper()
	got := s.acts()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.t.Errorf("the audit log holds %q, want %q", got, want)
	}
}

// again redrives what a person rejected: another output is asked for.
func (s *system) again(o control.Operation) {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"id": o.ID, "reason": "another one"})
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL()+"/api/redrive", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if a := s.send(r); a.Code != http.StatusOK {
		s.t.Fatalf("redriving %s was answered %d %s", o.ID, a.Code, a.Body)
	}
	s.settle()
}
