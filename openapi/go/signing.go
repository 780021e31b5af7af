package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Signer is a DID and its signing function. Sign returns the 64 bytes of an Ed25519 signature, so that a key of a KMS fits.
type Signer struct {
	DID  string
	Sign func(message []byte) ([]byte, error)
}

// NewSigner signs with a secret multikey (z3u2…), such as IssuedKey.PrivateKey.
func NewSigner(did, secretMultikey string) (Signer, error) {
	seed, err := multikey(secretMultikey, secretPrefix, ed25519.SeedSize)
	if err != nil {
		return Signer{}, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	return Signer{did, func(message []byte) ([]byte, error) { return ed25519.Sign(key, message), nil }}, nil
}

// SignerOf signs with the authentication key that CreateDid issued.
func SignerOf(created CreatedDid) (Signer, error) {
	if created.Keys.Authentication == nil {
		return Signer{}, errors.New("no key for authentication was issued")
	}
	return NewSigner(created.Did, created.Keys.Authentication.PrivateKey)
}

var changePurposes = map[string]bool{"update": true, "rotate": true, "recover": true, "deactivate": true}

// SignChallenge gives the credentials of an Authorization header. It refuses the challenge of another service, one for another DID,
// purpose, target or body, and one that any change of the DID could be recorded under: without purpose, or for a change without a body.
// bodyHash is empty where there is no body. target is the path below /api/v1 with the query; where it is empty, the challenge must name
// none.
func SignChallenge(signer Signer, challenge, origin, purpose, bodyHash, target string) (string, error) {
	fields := strings.Split(challenge, " ")
	if len(fields) != 7 || fields[0] != "didauth:v1" {
		return "", errors.New("not a DIDAuth challenge")
	}
	issued, bound, _ := strings.Cut(fields[1], "#")
	if expected := originOf(origin); expected == "" || originOf(issued) != expected {
		return "", fmt.Errorf("the challenge is one of %s", issued)
	}
	var targetHash string
	if err := errorOf(func() { targetHash = hashTarget(target) }); err != nil {
		return "", err
	}
	if bodyHash == "" {
		bodyHash = "-"
	}
	// In the log of a DID without strictEvidence such a signature serves for every change.
	if fields[3] == "-" || (changePurposes[fields[3]] && fields[4] == "-") {
		return "", errors.New("the challenge is not bound to a purpose and a body: request one with purpose, and for a change of a DID with bodyHash")
	}
	if fields[2] != signer.DID || fields[3] != purpose || fields[4] != bodyHash || bound != targetHash {
		return "", errors.New("the challenge authorises something else than what was asked for")
	}
	signature, err := signer.Sign([]byte(challenge))
	return base64.StdEncoding.EncodeToString([]byte(challenge + "." + base64url(signature))), err
}

// hashTarget gives the hash of the canonical form of a target (getDidAuthChallenge), and nothing without one.
func hashTarget(target string) string {
	if target == "" {
		return ""
	}
	encoded := func(text string) string { return escaped(taken(url.PathUnescape(text))) }
	path, query, _ := strings.Cut(strings.TrimPrefix(target, "/api/v1"), "?")
	segments, pairs := strings.Split(path, "/"), []string{}
	for place, segment := range segments {
		segments[place] = encoded(segment)
	}
	for _, pair := range strings.Split(query, "&") {
		if name, value, _ := strings.Cut(strings.ReplaceAll(pair, "+", "%20"), "="); pair != "" {
			pairs = append(pairs, encoded(name)+"="+encoded(value))
		}
	}
	sort.Strings(pairs)
	return base64url(sha256Of([]byte(strings.TrimRight(strings.Join(segments, "/")+"?"+strings.Join(pairs, "&"), "?"))))
}

// escaped writes each byte that is not unreserved (RFC 3986 §2.3) with a percent sign.
func escaped(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// originOf returns scheme, host and port of a URL; empty for what is none. The names of this machine are equal: only this machine listens there.
func originOf(text string) string {
	parts, err := url.Parse(text)
	if err != nil || parts.Hostname() == "" {
		return ""
	}
	host := strings.ToLower(parts.Hostname())
	if host == "127.0.0.1" || host == "::1" {
		host = "localhost"
	}
	usual := map[string]string{"http": "80", "https": "443"}[parts.Scheme]
	return parts.Scheme + "://" + net.JoinHostPort(host, or(parts.Port(), usual))
}

// Normalize brings a text into Unicode's form NFC, which the values that ActionOf pins are in. The standard library has no such function:
// programs that pin texts with combining characters set it, to norm.NFC.String of golang.org/x/text/unicode/norm.
var Normalize func(string) string

// ActionOf is the action of a token: that a predicate of this type about the attribute is proved, of value where that is not nil
// and of any value otherwise. A value is a string, a number, a bool, or a slice of these.
func ActionOf(attribute string, predicate AskedPredicateType, value any) (action string, err error) {
	err = errorOf(func() {
		written := strings.NewReplacer("%2F", "/", ".", "%2E", "~", "%7E").Replace(escaped(attribute))
		action = "zkp.prove." + written + "." + string(predicate)
		if value != nil {
			action += "." + pinOf(taken(parseJSON(taken(json.Marshal(value)))))
		}
	})
	return action, err
}

// An integer is its own pin; everything else is pinned by the hash of its canonical form, texts in NFC and sets sorted.
func pinOf(value any) string {
	items, isSet := value.([]any)
	if !isSet {
		items = []any{value}
	}
	var sorted []string
	for _, item := range items {
		if plain := plainOf(item); !contains(sorted, plain) {
			sorted = append(sorted, plain)
		}
	}
	sort.Strings(sorted)
	canonical := strings.Join(sorted, ",")
	if isSet {
		canonical = "[" + canonical + "]"
	} else if text, is := value.(string); is && isLarge(text) {
		return text
	} else if _, is := value.(json.Number); is && canonical[0] != '-' && canonical[0] != '"' {
		return canonical
	}
	return "h" + base64url(sha256Of([]byte(canonical))[:16])
}

// Integers that are not numbers in JSON are written as texts.
func isLarge(text string) bool {
	number, err := strconv.ParseUint(text, 10, 64)
	return err == nil && number > 1<<53-1 && number < 1e19 && text[0] != '0' && text[0] != '+'
}

func plainOf(value any) string {
	switch value := value.(type) {
	case bool:
		return strconv.FormatBool(value)
	case json.Number:
		number := taken(value.Float64())
		if number == math.Trunc(number) && math.Abs(number) <= 1<<53-1 {
			return string(taken(Canonicalize(value)))
		}
		// A number with a fraction is pinned as its shortest decimal text.
		text := strconv.FormatFloat(number, 'f', -1, 64)
		digits := strings.Trim(strings.Replace(strings.TrimPrefix(text, "-"), ".", "", 1), "0")
		isExact := number != math.Trunc(number) && len(digits) <= 15
		demand(isExact, "a number of more than 15 significant digits, or past 2^53 - 1, is given as a text")
		return strconv.Quote(text)
	case string:
		demand(isAssigned(value), "the text has a character that Unicode 14.0 does not assign")
		demand(Normalize != nil || isComposed(value), "the text may not be in NFC: set identity.Normalize")
		if Normalize != nil {
			value = Normalize(value)
		}
		return string(taken(Canonicalize(value)))
	}
	panic(unmet{"", "a value is a text, a number, a boolean, or a slice of these"})
}

// isComposed reports whether a text is plainly in NFC: no mark may join what is before it, and no character stands for another
// (Unicode Standard Annex 15, "Detecting Normalization Forms"). Of characters that are newer than Go's tables nothing is known.
func isComposed(text string) bool {
	for _, character := range text {
		isKnown := unicode.In(character, unicode.L, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C)
		if !isKnown || unicode.Is(replaced, character) || (character >= 0x1160 && character < 0x1200) {
			return false
		}
	}
	return true
}

// TokenWish is what a token shall allow: that Target may have Action proved under the delegation, once, for ExpiresIn (15 minutes where 0).
type TokenWish struct {
	Target, Action, DelegationRef string
	ExpiresIn                     time.Duration
}

// SignToken makes a token for one request of an agent.
func SignToken(holder Signer, wish TokenWish) (IBCT, error) {
	now := time.Now().UTC().Truncate(time.Second)
	token := IBCT{
		Id:            "urn:uuid:" + uuid(),
		Type:          "InvocationBoundCapabilityToken",
		Invoker:       holder.DID,
		Target:        wish.Target,
		Action:        wish.Action,
		DelegationRef: wish.DelegationRef,
		Nonce:         base64url(random(16)),
		IssuedAt:      now.Format(time.RFC3339),
		ExpiresAt:     now.Add(or(wish.ExpiresIn, 15*time.Minute)).Format(time.RFC3339),
	}
	octets, err := Canonicalize(token)
	if err != nil {
		return IBCT{}, err
	}
	signature, err := holder.Sign(bytes.Replace(octets, []byte(`"proofValue":"",`), nil, 1))
	token.ProofValue = base58(signature)
	return token, err
}

// SignIBCT has the name of version 1.0.
//
// Deprecated: leaves in 1.2; call SignToken.
func SignIBCT(holder Signer, wish TokenWish) (IBCT, error) { return SignToken(holder, wish) }

// IBCTWish has the name of version 1.0.
//
// Deprecated: leaves in 1.2; use TokenWish.
type IBCTWish = TokenWish

// ProofRequest is the request for the proof that a token for one predicate allows, of the credential: parties and predicate are those that the
// token names. value is nil where it is pinned and not said again. For several predicates, and for neq, there is PresentationOf.
func ProofRequest(token IBCT, credentialID string, value any) (DelegatedProofRequest, error) {
	asked, err := predicatesOf(token, []any{value})
	if err != nil {
		return DelegatedProofRequest{}, err
	}
	if asked[0].Type == "neq" {
		return DelegatedProofRequest{}, errors.New("neq is proved by a presentation: call PresentationRequest")
	}
	predicate := ZKPredicate{AttributeName: asked[0].AttributeName, Type: PredicateType(asked[0].Type), Value: asked[0].Value}
	return DelegatedProofRequest{
		HolderDid: token.Invoker, AgentDid: token.Target, CredentialId: credentialID, Predicate: predicate, Ibct: token,
	}, nil
}

// PresentationOf is the request for the presentation that a token allows, of the credential. values has one for each predicate, nil where
// it is pinned and not said again.
func PresentationOf(token IBCT, credentialID string, values ...any) (DelegatedPresentationRequest, error) {
	asked, err := predicatesOf(token, values)
	if err != nil {
		return DelegatedPresentationRequest{}, err
	}
	return DelegatedPresentationRequest{
		HolderDid: token.Invoker, AgentDid: token.Target, CredentialId: &credentialID, Predicates: &asked, Ibct: token,
	}, nil
}

func predicatesOf(token IBCT, values []any) (asked []AskedPredicate, err error) {
	err = errorOf(func() {
		actions := strings.Split(token.Action, " ")
		demand(len(values) == len(actions), fmt.Sprintf("the token names %d predicates, and %d values are given", len(actions), len(values)))
		for place, action := range actions {
			parts := strings.Split(action, ".")
			demand(len(parts) >= 4, action+" names no predicate")
			attribute, kind := taken(url.PathUnescape(parts[2])), AskedPredicateType(parts[3])
			asked = append(asked, AskedPredicate{AttributeName: attribute, Type: kind, Value: values[place]})
		}
	})
	return asked, err
}

// random returns random bytes. A machine without any is in no state to sign.
func random(count int) []byte {
	octets := make([]byte, count)
	if _, err := rand.Read(octets); err != nil {
		panic(err)
	}
	return octets
}

// uuid returns a UUID of version 4 (RFC 9562 §5.4).
func uuid() string {
	octets := random(16)
	octets[6], octets[8] = octets[6]&0x0f|0x40, octets[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", octets[:4], octets[4:6], octets[6:8], octets[8:10], octets[10:])
}
