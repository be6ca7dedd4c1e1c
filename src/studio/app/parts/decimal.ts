/** `−0.603`, `0.000`: never a zero with a sign. */
export function decimal(value: number, digits: number): string {
  const size = Math.abs(value).toFixed(digits);
  return value < 0 && Number(size) !== 0 ? `−${size}` : size;
}
