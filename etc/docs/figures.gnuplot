# The chart of figures.tsv, as SVG on standard output. etc/docs/pictures.sh makes figures.svg by it.
set terminal svg noenhanced size 960,460 font 'DejaVu Sans,13' background '#ffffff'
set datafile separator '\t'
set datafile commentschars '#'
set title 'Thousands of operations per second (higher is better)' font ',15'
set style data histogram
set style histogram clustered gap 1.2
set style fill solid 1.0 border -1
set boxwidth 0.95
set grid ytics lc rgb '#d8dee4'
set yrange [0:500]
set ytics nomirror
set xtics nomirror scale 0 font ",12"
set xrange [-0.6:4.6]
set key top right reverse Left
set lmargin 7
set bmargin 4
split(text) = (strstrt(text, ', ') > 0 ? text[1:strstrt(text, ', ')] . "\n" . text[strstrt(text, ', ') + 2:] : text)
plot 'figures.tsv' using 2:xtic(split(stringcolumn(1))) title 'Perennial, every answer synced' lc rgb '#0969da', \
  '' using 3 title 'beanstalkd -b -f 0, every answer synced' lc rgb '#d55e00', \
  '' using 4 title 'beanstalkd -b, synced every 50 ms' lc rgb '#e5b567', \
  '' using 5 title 'beanstalkd without a log' lc rgb '#b6bcc4', \
  '' using ($0 - 0.29):2:2 with labels offset 0,0.6 font ',11' notitle
