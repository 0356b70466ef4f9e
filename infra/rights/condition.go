package rights

import (
	"fmt"
	"slices"
	"strings"
)

// Keys that conditions may look at, as far as [Place.Uses] and [Use.OfKey] fill them in.
const (
	LeadingKeys = "dynamodb:LeadingKeys" // partition keys of the items that a request names
	Prefix      = "s3:prefix"            // that a list of objects is asked for
	ViaService  = "kms:ViaService"       // on whose behalf a key is used
)

// understood says why a condition cannot be decided here, or nothing.
func (c Condition) understood() error {
	_, base := c.split()
	switch {
	case !slices.Contains([]string{LeadingKeys, Prefix, ViaService}, c.Key):
		return fmt.Errorf("the key %s is not understood here", c.Key)
	case !slices.Contains([]string{"StringEquals", "StringLike", "Null"}, base):
		return fmt.Errorf("the operator %s is not understood here", c.Operator)
	case base == "Null" && !slices.Equal(c.Values, []string{"true"}) && !slices.Equal(c.Values, []string{"false"}):
		return fmt.Errorf("%s of %s is neither true nor false", c.Operator, c.Key)
	}
	return nil
}

// split is the operator with what is demanded of many values taken off: "ForAllValues", "StringLike".
func (c Condition) split() (many, base string) {
	if many, base, ok := strings.Cut(c.Operator, ":"); ok {
		return many, base
	}
	return "", c.Operator
}

// holds tells whether the condition holds for what a request carries. ForAllValues holds where it carries nothing too,
// as it does in IAM: statements that mean to have a key say so with Null.
func (c Condition) holds(carried map[string][]string) bool {
	many, base := c.split()
	values := carried[c.Key]
	fits := func(v string) bool {
		return slices.ContainsFunc(c.Values, func(pattern string) bool { return pattern == v || base == "StringLike" && like(pattern, v) })
	}
	switch {
	case base == "Null":
		return c.Values[0] == fmt.Sprint(len(values) == 0)
	case many == "ForAllValues":
		return !slices.ContainsFunc(values, func(v string) bool { return !fits(v) })
	}
	return slices.ContainsFunc(values, fits) // ForAnyValue, and a key of one value
}
