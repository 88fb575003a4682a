// SPDX-License-Identifier: Apache-2.0
// One line a test while they run; a failure is shown whole.
export default async function* (source) {
  for await (const event of source) {
    const test = event.data;
    if (event.type === "test:pass" && test.nesting === 0 && !test.skip)
      yield `ok    ${test.name} (${(test.details.duration_ms / 1000).toFixed(1)} s)\n`;
    if (event.type === "test:pass" && test.skip) yield `skip  ${test.name}: ${test.skip}\n`;
    if (event.type === "test:fail")
      yield `FAIL  ${test.name}\n${String(test.details.error?.cause?.stack ?? test.details.error)}\n`;
    if (event.type === "test:diagnostic" && test.nesting === 0 && /^#? ?(table|figure)/.test(test.message))
      yield `      ${test.message}\n`;
  }
}
