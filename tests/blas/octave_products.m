% Products of Octave's matrices, exact on integers; it prints how often it must have called a GEMM.
1;

% The product by sums of outer products, element by element: no BLAS.
function c = outer_sum (a, b)
  c = zeros (rows (a), columns (b));
  for p = 1:columns (a)
    c += double (a(:, p)) .* double (b(p, :));
  endfor
endfunction

function check (what, found, wanted)
  if (! isequal (double (found), wanted))
    error ("%s: wrong", what);
  endif
endfunction

rand ("seed", 1);
calls = [0, 0];
sizes = [5 7 6; 33 65 17; 64 64 64; 150 131 190; 2 300 3; 61 62 63];
for row = 1:rows (sizes)
  m = sizes(row, 1); n = sizes(row, 2); k = sizes(row, 3);
  a = floor (7 * rand (m, k)) - 3;
  b = floor (7 * rand (k, n)) - 3;
  at = a.'; bt = b.';
  wanted = outer_sum (a, b);
  for kind = 1:2
    if (kind == 1)
      x = single (a); y = single (b); xt = single (at); yt = single (bt);
    else
      x = a; y = b; xt = at; yt = bt;
    endif
    check ("a * b", x * y, wanted);
    check ("a' * b", xt' * y, wanted);
    check ("a * b'", x * yt', wanted);
    check ("a' * b'", xt' * yt', wanted);
    check ("a(:, backwards) * b(backwards, :)", x(:, end:-1:1) * y(end:-1:1, :), wanted);
    calls(kind) += 5;
  endfor
endfor
printf ("called %d %d times at least, sgemm and dgemm\n", calls(1), calls(2));
