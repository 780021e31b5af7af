package identity

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	// A BBS key has the most, 135: whatever is longer would only cost time.
	longestBase58 = 160
	publicPrefix  = "\xed\x01"
	secretPrefix  = "\x80\x26"
)

// encoding/json writes this escape for bytes that are not UTF-8, and the character itself if a text contains it.
var notText = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\ufffd`)

// escapes are those of a JSON text, of which the group has halves of pairs.
var escapes = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)`)

// Canonicalize writes a JSON value in the form of RFC 8785: what signatures and hashes are over. Structs are written as encoding/json
// has them. An error is returned for what has no such form: texts that are not UTF-8, integers beyond 2^53-1, numbers that are not finite.
func Canonicalize(value any) ([]byte, error) {
	octets, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(octets, []byte(`\ufffd`)) && notText.Match(octets) {
		return nil, errors.New("a text is not UTF-8")
	}
	read, err := parseJSON(octets)
	if err != nil {
		return nil, err
	}
	var written bytes.Buffer
	err = writeCanonical(&written, read)
	return written.Bytes(), err
}

// parseJSON keeps numbers as they are written. It takes one value and nothing behind it.
func parseJSON(octets []byte) (any, error) {
	if !utf8.Valid(octets) || (bytes.Contains(octets, []byte(`\u`)) && hasHalfPair(octets)) {
		return nil, errors.New("the text is not UTF-8")
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(octets))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something stands behind the JSON value")
	}
	return value, nil
}

// hasHalfPair reports whether an escape is half of a surrogate pair, for which encoding/json reads another character.
func hasHalfPair(octets []byte) bool {
	for _, found := range escapes.FindAllSubmatchIndex(octets, -1) {
		if found[2] != -1 {
			return true
		}
	}
	return false
}

func writeCanonical(to *bytes.Buffer, value any) error {
	switch value := value.(type) {
	case nil:
		to.WriteString("null")
	case bool:
		to.WriteString(strconv.FormatBool(value))
	case string:
		writeText(to, value)
	case json.Number:
		return writeNumber(to, value)
	case []any:
		to.WriteByte('[')
		for place, item := range value {
			if place > 0 {
				to.WriteByte(',')
			}
			if err := writeCanonical(to, item); err != nil {
				return err
			}
		}
		to.WriteByte(']')
	case map[string]any:
		return writeObject(to, value)
	default:
		return fmt.Errorf("JSON has no %T", value)
	}
	return nil
}

// The order of names is that of their UTF-16, not of their bytes (RFC 8785 §3.2.3).
func writeObject(to *bytes.Buffer, value map[string]any) error {
	names := make([]string, 0, len(value))
	for name := range value {
		names = append(names, name)
	}
	sort.Slice(names, func(one, other int) bool { return utf16Of(names[one]) < utf16Of(names[other]) })
	to.WriteByte('{')
	for place, name := range names {
		if place > 0 {
			to.WriteByte(',')
		}
		writeText(to, name)
		to.WriteByte(':')
		if err := writeCanonical(to, value[name]); err != nil {
			return err
		}
	}
	to.WriteByte('}')
	return nil
}

// utf16Of returns the UTF-16 units of a text as bytes, big-endian.
func utf16Of(text string) string {
	var octets []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		octets = append(octets, byte(unit>>8), byte(unit))
	}
	return string(octets)
}

// encoding/json writes more escapes than RFC 8785 §3.2.2.2 has.
func writeText(to *bytes.Buffer, text string) {
	to.WriteByte('"')
	for _, character := range text {
		switch {
		case character == '"' || character == '\\':
			to.WriteByte('\\')
			to.WriteRune(character)
		case character >= ' ':
			to.WriteRune(character)
		case strings.ContainsRune("\b\t\n\f\r", character):
			to.WriteByte('\\')
			to.WriteByte("btn-fr"[character-'\b'])
		default:
			fmt.Fprintf(to, `\u%04x`, character)
		}
	}
	to.WriteByte('"')
}

func writeNumber(to *bytes.Buffer, number json.Number) error {
	value, err := number.Float64()
	if err != nil {
		return err
	}
	if !strings.ContainsAny(number.String(), ".eE") && (value > 1<<53-1 || value < -(1<<53-1)) {
		return fmt.Errorf("the integer %s has no canonical form", number)
	}
	if value == 0 { // and not -0
		to.WriteByte('0')
		return nil
	}
	// encoding/json writes numbers as ECMAScript does.
	octets, err := json.Marshal(value)
	to.Write(octets)
	return err
}

func base58(octets []byte) string {
	number, rest, base := new(big.Int).SetBytes(octets), new(big.Int), big.NewInt(58)
	var reversed []byte
	for number.Sign() > 0 {
		number.DivMod(number, base, rest)
		reversed = append(reversed, alphabet[rest.Int64()])
	}
	for place := 0; place < len(octets) && octets[place] == 0; place++ {
		reversed = append(reversed, alphabet[0])
	}
	for one, other := 0, len(reversed)-1; one < other; one, other = one+1, other-1 {
		reversed[one], reversed[other] = reversed[other], reversed[one]
	}
	return string(reversed)
}

func base58Decode(text string) ([]byte, error) {
	if len(text) > longestBase58 {
		return nil, errors.New("base58btc of too many characters")
	}
	number, base := new(big.Int), big.NewInt(58)
	for _, character := range text {
		digit := strings.IndexRune(alphabet, character)
		if digit == -1 {
			return nil, errors.New("not base58btc")
		}
		number.Add(number.Mul(number, base), big.NewInt(int64(digit)))
	}
	zeros := len(text) - len(strings.TrimLeft(text, "1"))
	return append(make([]byte, zeros), number.Bytes()...), nil
}

func base64url(octets []byte) string { return base64.RawURLEncoding.EncodeToString(octets) }

func sha256Of(octets []byte) []byte {
	digest := sha256.Sum256(octets)
	return digest[:]
}

// HashBody is what a challenge binds a body by: base64url of the SHA-256 of its canonical form.
func HashBody(canonical []byte) string { return base64url(sha256Of(canonical)) }

// multikey returns the bytes of a raw key, size of them, whose multicodec is prefix (CID 1.0 §2.2.2).
func multikey(text, prefix string, size int) ([]byte, error) {
	var octets []byte
	if strings.HasPrefix(text, "z") {
		octets, _ = base58Decode(text[1:])
	}
	if len(octets) != size+len(prefix) || string(octets[:len(prefix)]) != prefix {
		return nil, errors.New("not a key of its type")
	}
	return octets[len(prefix):], nil
}
